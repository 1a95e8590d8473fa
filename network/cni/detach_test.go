package cni_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/platform/lab"
)

// Plugins that hang while containers are taken down have the time that closing has, all together.
func TestDetachingEndsWithItsTime(t *testing.T) {
	in := cni.Folders{script(t, "stays", `
[ "$CNI_COMMAND" = ADD ] || exec sleep 300
nsenter --net="$CNI_NETNS" ip link add eth0 type veth peer name other
nsenter --net="$CNI_NETNS" ip link set eth0 up
nsenter --net="$CNI_NETNS" ip addr add 10.1.0.${CNI_CONTAINERID##*c}/16 dev eth0
echo '{"cniVersion": "1.0.0"}'`)}
	topo := network.Topology{Hosts: 1, Servers: 1, Clients: 5}
	n, err := cni.New(conflist(t, "1.0.0", "stays"), in).Connect(t.Context(), topo, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err = n.Close(ctx)
	const want = "remove containers' attachments: not all were detached: the plugins were done with 0 of 6 containers"
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
