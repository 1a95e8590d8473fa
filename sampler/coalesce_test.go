package sampler_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/sampler"
)

// TestCoalesce has a tap device that waits for several packets, as the kernel says it, and lo, whose driver says nothing.
func TestCoalesce(t *testing.T) {
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	} else {
		iferr.Fatal(t, err)
		f.Close()
	}
	iferr.Fatal(t, exec.Command("ip", "tuntap", "add", "tap9", "mode", "tap").Run())
	defer func() { iferr.Error(t, exec.Command("ip", "link", "del", "tap9").Run()) }()
	program, err := exec.LookPath("ethtool")
	platformtest.Require(t, "ethtool", err)
	iferr.Fatal(t, exec.Command(program, "-C", "tap9", "rx-frames", "16").Run())
	if n, err := sampler.NIC("tap9", "/proc", "/sys"); err != nil || n.Coalesce == nil || *n.Coalesce != (record.Coalesce{RxFrames: 16}) {
		t.Errorf("%+v, %v", n.Coalesce, err)
	}
	if n, err := sampler.NIC("lo", "/proc", "/sys"); err != nil || n.Coalesce != nil || n.ReceiveRing != 0 {
		t.Errorf("lo: %+v, %v", n, err)
	}
}
