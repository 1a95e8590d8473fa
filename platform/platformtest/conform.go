// Package platformtest is the conformance suite that all platforms share.
package platformtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

// Conform runs the suite on a platform. The test program must run as an agent when it is started as one, as
// internal/testutil.Main does.
func Conform(t *testing.T, p platform.Platform) {
	if err := p.Probe(t.Context()); errors.Is(err, platform.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if p.Info().Name == "" {
		t.Error("the platform has no name")
	}
	for _, n := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("hosts=%d", n), func(t *testing.T) {
			h := hosts(t, p, n)
			if got := len(h.All()); got != n {
				t.Fatalf("%d hosts, want %d", got, n)
			}
			t.Run("uplinks", func(t *testing.T) { uplinks(t, h) })
			t.Run("reach each other", func(t *testing.T) { reach(t, h) })
			t.Run("containers", func(t *testing.T) { containers(t, h) })
		})
	}
	t.Run("no hosts", func(t *testing.T) { noHosts(t, p) })
	t.Run("shared namespaces", func(t *testing.T) { share(t, p) })
	t.Run("processes", func(t *testing.T) { processes(t, p) })
	t.Run("close leaves nothing", func(t *testing.T) { closeLeavesNothing(t, p) })
	t.Run("two at once", func(t *testing.T) { twoAtOnce(t, p) })
}

// hosts returns unshaped hosts, which are closed with the test.
func hosts(t *testing.T, p platform.Platform, n int) platform.Hosts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	h, err := p.Hosts(ctx, platform.HostRequest{Count: n})
	iferr.Fatal(t, err)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

func noHosts(t *testing.T, p platform.Platform) {
	before := machine.Descriptors(t, "net:")
	for _, n := range []int{-1, 0, 1 << 20} {
		h, err := p.Hosts(t.Context(), platform.HostRequest{Count: n})
		if err == nil {
			h.Close(t.Context())
			t.Errorf("%d hosts were given", n)
		} else if !strings.Contains(err.Error(), fmt.Sprint(n)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d hosts: error is %q, want one line with the number", n, err)
		}
	}
	// There may be fewer: platforms close kept hosts to make room.
	if got := machine.Descriptors(t, "net:"); got > before {
		t.Errorf("%d namespaces are open, %d before", got, before)
	}
}

// closeLeavesNothing builds everything that hosts can have and closes them.
func closeLeavesNothing(t *testing.T, p platform.Platform) {
	before := machine.Descriptors(t, "net:")
	h, err := p.Hosts(t.Context(), platform.HostRequest{Count: 2})
	iferr.Fatal(t, err)
	all, err := h.All()[1].Containers(t.Context(), 3)
	iferr.Fatal(t, err)
	if sharing := h.All()[1].Facts().Share; sharing != nil {
		if _, err := sharing(t.Context(), all[0]); err != nil {
			t.Error(err)
		}
	}
	if got := output(t, all[0], "echo", "works"); got != "works" {
		t.Errorf("got %q", got)
	}
	for range 2 { // the second time must do no harm
		if err := h.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if got := machine.Descriptors(t, "net:"); got != before {
		t.Errorf("%d namespaces are open after Close, %d before", got, before)
	}
	proc, err := all[0].Start(t.Context(), platform.Command{Path: "echo"})
	if err == nil {
		proc.Kill()
		t.Error("a process was started in a container that is gone")
	}
}

// twoAtOnce builds two sites with equal names and addresses, which must not reach each other. It skips platforms that
// keep their hosts for the next caller.
func twoAtOnce(t *testing.T, p platform.Platform) {
	first := hosts(t, p, 2)
	if !first.Transient() {
		t.Skipf("the hosts of %s stay", p.Info().Name)
	}
	sites := []platform.Hosts{first, hosts(t, p, 2)}
	seen := map[string]string{}
	for i, site := range sites {
		for _, h := range site.All() {
			all, err := h.Containers(t.Context(), 2)
			iferr.Fatal(t, err)
			for _, e := range append(all, h) {
				name, ns := fmt.Sprintf("%s of site %d", e.Name(), i), namespace(t, e)
				if other, ok := seen[ns]; ok {
					t.Errorf("%s and %s are in one namespace", other, name)
				}
				seen[ns] = name
			}
		}
	}
	var done sync.WaitGroup
	for _, site := range sites {
		done.Go(func() { reach(t, site) })
	}
	done.Wait()
}
