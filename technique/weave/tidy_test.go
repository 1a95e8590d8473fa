package weave_test

import (
	"context"
	"testing"

	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/technique/techniquetest"
	"nettoll/technique/weave"
)

// kept is a platform whose hosts stay.
type kept struct {
	*lab.Lab
	hosts platform.Hosts
}

func (k kept) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return stay{k.hosts}, nil
}

type stay struct{ platform.Hosts }

func (stay) Close(context.Context) error { return nil }

func TestNothingIsLeft(t *testing.T) {
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hosts.Close(context.Background()) })
	before := techniquetest.State(t, hosts.All()...)
	for _, says := range []string{inSleeve, inFast} {
		n, err := connect(t, weave.Hurried(weave.NewSleeve(newFake(t, version, says).paths())), kept{lab.New(), hosts})
		if (err == nil) != (says == inSleeve) {
			t.Fatal(err)
		}
		if err == nil {
			if err := n.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		techniquetest.Same(t, "after weavers that say "+says, before, techniquetest.State(t, hosts.All()...))
	}
}
