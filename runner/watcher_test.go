package runner_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/platform"
	"nettoll/record"
)

// counted is an endpoint that uses a constant share of a CPU from its beginning on, and takes some
// time to report it.
type counted struct {
	place
	began time.Time
	share float64
	err   error
}

const telling = 300 * time.Millisecond

func (c *counted) Facts() platform.Facts { return platform.Facts{CPUTime: c.used} }

func (c *counted) used(context.Context) (time.Duration, error) {
	time.Sleep(telling / 2)
	used := time.Duration(c.share * float64(time.Since(c.began)))
	time.Sleep(telling / 2)
	return used, c.err
}

// stand is an endpoint that stands in for another one.
type stand struct{ platform.Endpoint }

// countedTrial returns the trial of a network of two servers and three clients whose endpoints are
// made by name.
func countedTrial(t *testing.T, endpoint func(name string) platform.Endpoint) record.Trial {
	t.Helper()
	b := newBench(&way{name: "docker:bridge", endpoint: endpoint})
	b.Cells[0].Servers, b.Cells[0].Clients, b.Cells[0].Processes = 2, 3, 2
	b.Settings.MaxRounds = 1
	end, err := b.run(t, t.Context())
	ends(t, end, err, record.EndMaxRounds, 1)
	if len(b.trials) != 1 || b.trials[0].Status != record.OK || b.trials[0].CPU == nil {
		t.Fatalf("%+v", b.trials)
	}
	return b.trials[0]
}

func TestCPUTimeOfContainersIsThatOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := map[string]*counted{}
		began := time.Now()
		tr := countedTrial(t, func(name string) platform.Endpoint {
			made[name] = &counted{place(name), began, float64(len(made)+1) / 4, nil}
			return &stand{made[name]}
		})
		if len(tr.CPU.Containers) != 5 {
			t.Fatalf("%d containers: %+v", len(tr.CPU.Containers), tr.CPU.Containers)
		}
		for _, c := range tr.CPU.Containers {
			want := made[c.Name].share * tr.Window
			if math.Abs(c.CPU-want) > 1e-6 {
				t.Errorf("%s used %v CPU seconds in a window of %v s, want %v", c.Name, c.CPU, tr.Window, want)
			}
			delete(made, c.Name)
		}
		if len(made) > 0 {
			t.Errorf("%v are missing", made)
		}
		// The window takes one second. Asking the five endpoints one after the other would take three more.
		if took := time.Since(began).Seconds(); took > 1+2*telling.Seconds()+0.8 {
			t.Errorf("the run took %v s", took)
		}
		if slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return w.Code == "container-cpu" }) {
			t.Errorf("warnings are %+v", tr.Warnings)
		}
	})
}

func TestContainerInBothRolesIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &counted{place("h1c1"), time.Now(), 0.5, nil}
		tr := countedTrial(t, func(string) platform.Endpoint { return one })
		if len(tr.CPU.Containers) != 1 || tr.CPU.Containers[0].Name != "h1c1" {
			t.Errorf("containers are %+v", tr.CPU.Containers)
		}
	})
}

func TestContainersOfWhichOneDoesNotTell(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		warn string
	}{
		"unsupported": {fmt.Errorf("h1c2: %w", platform.ErrUnsupported), ""},
		"broken":      {errGone, "the CPU time of containers is unknown: the network fell off the table"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := countedTrial(t, func(name string) platform.Endpoint {
					e := &counted{place(name), time.Now(), 0.5, nil}
					if name == "h1c2" {
						e.err = c.err
					}
					return e
				})
				if len(tr.CPU.Containers) > 0 {
					t.Errorf("containers are %+v", tr.CPU.Containers)
				}
				var said []string
				for _, w := range tr.Warnings {
					if w.Code == "container-cpu" {
						said = append(said, w.Text)
					}
				}
				if got := strings.Join(said, "; "); got != c.warn {
					t.Errorf("warned of %q, want %q", got, c.warn)
				}
			})
		})
	}
}
