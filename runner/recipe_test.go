package runner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/runner"
)

// move has the named networks built on another platform.
func (b *bench) move(other *ground, names ...string) {
	other.w = b.w
	for _, name := range names {
		b.Networks[name] = runner.Recipe{Platform: other, Driver: b.Networks[name].Driver}
	}
}

func TestEveryPlatformIsProbedOnceAndEveryNetworkIsBuiltOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "host"}, &way{name: "bridge"}, &way{name: "docker:native"}, &way{name: "docker:bridge"})
		b.move(&ground{name: "docker"}, "docker:native", "docker:bridge")
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 3)
		for _, name := range []string{"platform ", "platform docker", "host", "bridge", "docker:native", "docker:bridge"} {
			if n := b.w.probes[name]; n != 1 {
				t.Errorf("%s was probed %d times in 3 rounds", name, n)
			}
		}
		for name, r := range b.Networks {
			if on := b.ways[name].on; on != r.Platform {
				t.Errorf("%s was built on %v, want %v", name, on, r.Platform)
			}
		}
		for _, tr := range b.trials {
			if tr.Status != record.OK {
				t.Errorf("%s: %s: %s", tr.Cell.Network, tr.Status, tr.Reason)
			}
		}
	})
}

func TestPlatformThatCannotBeUsed(t *testing.T) {
	missing := &platform.Unsupported{Feature: "Docker", Option: "dockerd", Remedy: "apt-get install docker.io"}
	for name, c := range map[string]struct {
		probe  error
		status record.Status
		trials int // of each network
		remedy string
		asked  int // how often the platform was probed
	}{
		"missing": {missing, record.Skipped, 1, "apt-get install docker.io", 1},
		"broken":  {errGone, record.Failed, 3, "", 6}, // it may be better in the next round
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "host"}, &way{name: "docker:native"}, &way{name: "docker:bridge"})
				b.move(&ground{name: "docker", probe: c.probe}, "docker:native", "docker:bridge")
				b.Settings.MaxRounds = 4
				end, err := b.run(t, t.Context())
				ends(t, end, err, record.EndMaxRounds, 4)
				if n := b.w.probes["platform docker"]; n != c.asked {
					t.Errorf("the platform was probed %d times, want %d", n, c.asked)
				}
				for _, network := range []string{"docker:native", "docker:bridge"} {
					got := b.of(network)
					if len(got) != c.trials || b.w.probes[network]+b.w.builds[network] > 0 {
						t.Errorf("%d trials of %s, want %d; it was probed or built %d times",
							len(got), network, c.trials, b.w.probes[network]+b.w.builds[network])
					}
					for _, tr := range got {
						if tr.Status != c.status || tr.Reason != c.probe.Error() || tr.Remedy != c.remedy {
							t.Errorf("%s: %s, remedy %q", tr.Status, tr.Reason, tr.Remedy)
						}
					}
				}
				if got := b.of("host"); len(got) != 4 || got[3].Status != record.OK {
					t.Errorf("the other platform has the trials %+v", got)
				}
			})
		})
	}
}

func TestInterruptSaysNothingOfAPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(&way{name: "docker:bridge"})
		b.move(&ground{name: "docker", probe: errGone, during: cancel}, "docker:bridge")
		end, err := b.run(t, ctx)
		ends(t, end, err, record.EndInterrupted, 0)
		if len(b.trials) > 0 {
			t.Errorf("the trials are %+v", b.trials)
		}
	})
}
