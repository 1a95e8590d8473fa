package lab

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// TestNamespacesOfLittleUse takes from a thread what it needs to make devices, as a container that was started with
// --cap-add SYS_ADMIN alone lacks it: it can make namespaces, but has to be root of a user namespace for the rest.
func TestNamespacesOfLittleUse(t *testing.T) {
	runtime.LockOSThread() // not unlocked: the thread ends with the test
	if !mayMakeNamespaces() {
		t.Fatal("in a lab everybody may")
	}
	for _, without := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var sets [2]unix.CapUserData
		iferr.Fatal(t, unix.Capget(&header, &sets[0]))
		all := sets[0].Effective
		sets[0].Effective &^= 1 << without
		iferr.Fatal(t, unix.Capset(&header, &sets[0]))
		if mayMakeNamespaces() {
			t.Errorf("without capability %d it says that it can", without)
		}
		sets[0].Effective = all
		iferr.Fatal(t, unix.Capset(&header, &sets[0]))
	}
}
