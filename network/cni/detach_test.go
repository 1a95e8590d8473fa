package cni_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/platform/lab"
)

// All plugins that hang while containers are detached share the time that closing has.
func TestDetachingEndsWithItsTime(t *testing.T) {
	in := cni.Folders{script(t, "stays", `
[ "$CNI_COMMAND" = ADD ] || exec sleep 300
`+makes+gives)}
	topo := network.Topology{Hosts: 1, Servers: 1, Clients: 5}
	n, err := cni.New(conflist(t, "1.0.0", "stays"), in).Connect(t.Context(), topo, lab.New())
	iferr.Fatal(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err = n.Close(ctx)
	const want = "remove containers' attachments: the plugins detached only 0 of 6 containers"
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
