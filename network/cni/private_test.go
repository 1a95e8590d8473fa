package cni_test

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/platform/lab"
)

// machineState makes the folder that plugins use by default, only in this lab, so that a test needs none on the machine.
func machineState(t *testing.T) {
	t.Helper()
	iferr.Fatal(t, unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, ""))
	t.Cleanup(func() { iferr.Error(t, unix.Unmount("/var/lib", unix.MNT_DETACH)) })
	iferr.Fatal(t, os.Mkdir("/var/lib/cni", 0o755))
}

// Networks that stand at once find what they have kept, whichever is taken down first.
func TestStateOfNetworksThatStandAtOnce(t *testing.T) {
	machineState(t)
	in := cni.Folders{script(t, "keeper", `
if [ "$CNI_COMMAND" = DEL ]; then
	[ -e "/var/lib/cni/$CNI_CONTAINERID" ] || { echo its state is gone >&2; exit 1; }
	exit 0
fi
touch "/var/lib/cni/$CNI_CONTAINERID"
`+makes+gives)}
	var built []*network.Network
	for range 2 {
		n, err := cni.New(conflist(t, "1.0.0", "keeper"), in).Connect(t.Context(), pair, lab.New())
		iferr.Fatal(t, err)
		built = append(built, n)
	}
	for _, n := range built {
		iferr.Error(t, n.Close(context.Background()))
	}
}

// State that plugins keep in their default place must not reach the machine's own state.
func TestStateOfTheMachineIsHidden(t *testing.T) {
	machineState(t)
	const kept = "/var/lib/cni/of-the-machine"
	iferr.Fatal(t, os.WriteFile(kept, nil, 0o644))
	in := cni.Folders{script(t, "keeper", `
[ -e `+kept+` ] && { echo it is not hidden >&2; exit 1; }
touch /var/lib/cni/`+"$CNI_CONTAINERID\n"+makes+gives)}
	n, err := cni.New(conflist(t, "1.0.0", "keeper"), in).Connect(t.Context(), pair, lab.New())
	iferr.Fatal(t, err)
	if len(n.Unproved) != 1 || len(n.Remarks(network.IPv4)) > 0 {
		t.Errorf("a path that is not known is not proved: %q; remarks %q", n.Unproved, n.Remarks(network.IPv4))
	}
	iferr.Error(t, n.Close(context.Background()))
	files, err := os.ReadDir("/var/lib/cni")
	if err != nil || len(files) != 1 || files[0].Name() != "of-the-machine" {
		t.Errorf("the machine has %v, %v", files, err)
	}
}
