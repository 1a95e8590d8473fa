package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"nettoll/network"
	"nettoll/record"
	"nettoll/workload"
)

func TestWhatBrokeIsOnTheTrial(t *testing.T) {
	ended := errors.New("flanneld on h1 ended (exit status 1)")
	for name, c := range map[string]struct {
		fault  error
		tool   error
		status record.Status
		reason string // how it begins
		doubt  string
	}{
		"nothing":             {nil, nil, record.OK, "", ""},
		"beside the payload":  {ended, nil, record.OK, "", "network-fault"},
		"under the payload":   {ended, errGone, record.Failed, ended.Error() + " (seen as: ", ""},
		"another way":         {&network.WrongPath{Finding: "it went through sleeve"}, nil, record.Invalid, "it went through sleeve", ""},
		"another way, failed": {&network.WrongPath{Finding: "it went through sleeve"}, errGone, record.Failed, "it went through sleeve (seen as: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "flannel", fault: func() error { return c.fault }})
				b.Settings.MaxRounds = 3
				b.tool.run = func(ctx context.Context, _ int64, job workload.Job) (workload.Result, error) {
					if c.tool != nil {
						return workload.Result{}, c.tool
					}
					return b.tool.well(ctx, job)
				}
				if _, err := b.run(t, t.Context()); err != nil {
					t.Fatal(err)
				}
				got := b.of("flannel")
				if len(got) == 0 {
					t.Fatal("no trials")
				}
				for _, tr := range got {
					if tr.Status != c.status || !strings.HasPrefix(tr.Reason, c.reason) || tr.Status == record.OK && tr.Reason != "" {
						t.Errorf("%s: %s", tr.Status, tr.Reason)
					}
					doubted := false
					for _, w := range tr.Warnings {
						doubted = doubted || w.Code == "network-fault"
					}
					if doubted != (c.doubt != "") {
						t.Errorf("warnings %+v", tr.Warnings)
					}
				}
			})
		})
	}
}

// TestWhatIsNotProvedIsADoubt: a part of the path that nothing proves leaves the trial valid, and can be told by its code.
func TestWhatIsNotProvedIsADoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(&way{name: "pod", unproved: []string{"what carries the payload is not proved"}}, &way{name: "bridge"})
		if _, err := b.run(t, t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tr := range b.trials {
			want := map[string]string{"pod": "what carries the payload is not proved"}[tr.Cell.Network]
			if got := said(tr, "path-unproved"); tr.Status != record.OK || got != want {
				t.Errorf("%s is %s: %q, want %q", tr.Cell.Network, tr.Status, got, want)
			}
		}
		if len(b.of("pod")) == 0 || len(b.of("bridge")) == 0 {
			t.Error("one of them has no trial")
		}
	})
}
