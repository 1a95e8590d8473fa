package sampler

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/safchain/ethtool"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// TestInterrupts has cards as sysfs shows them: the device on the bus is behind a link, and that of virtio is behind another
// device.
func TestInterrupts(t *testing.T) {
	for _, c := range []struct {
		name  string
		bus   string // of the device behind the link
		above string // folder of the device that has the interrupts, above that one
		files []string
		want  []string
	}{
		{"no device, as of veth", "", "", nil, nil},
		{"by messages", "pci", "", []string{"msi_irqs/24", "msi_irqs/25", "irq"}, []string{"24", "25"}},
		{"by a line", "pci", "", []string{"irq"}, []string{"11"}},
		{"virtio by messages", "virtio", "..", []string{"msi_irqs/24", "irq"}, []string{"24"}},
		{"virtio by a line", "virtio", "..", []string{"msi_irqs/", "irq"}, []string{"11"}},
		{"below a bridge that has some", "pci", "..", []string{"msi_irqs/24", "irq"}, nil},
	} {
		sys := t.TempDir()
		card, device := filepath.Join(sys, "class/net/eth0"), filepath.Join(sys, "devices/pci/slot/card")
		err := errors.Join(os.MkdirAll(card, 0o755), os.MkdirAll(device, 0o755))
		if c.bus != "" {
			err = errors.Join(err, os.Symlink(device, filepath.Join(card, "device")), os.Symlink("/sys/bus/"+c.bus, filepath.Join(device, "subsystem")))
		}
		for _, f := range c.files {
			path := filepath.Join(device, c.above, f)
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755))
			if f[len(f)-1] == '/' {
				err = errors.Join(err, os.Mkdir(path, 0o755))
			} else {
				err = errors.Join(err, os.WriteFile(path, []byte("11\n"), 0o644))
			}
		}
		iferr.Fatal(t, err)
		if got := interrupts(card); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNIC describes lo by the kernel, and by files that say more of it: those of sysfs count only if they are about the same device.
func TestNIC(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	iferr.Fatal(t, err)
	proc, sys := t.TempDir(), t.TempDir()
	card := filepath.Join(sys, "class/net/lo")
	for queue, mask := range []string{"c", "0", "c"} {
		write(t, filepath.Join(card, "queues", fmt.Sprintf("rx-%d", queue), "rps_cpus"), mask+"\n")
	}
	for i, list := range []string{"2-3", "0"} {
		irq := strconv.Itoa(24 + i)
		write(t, filepath.Join(card, "device/msi_irqs", irq), "msix\n")
		write(t, filepath.Join(proc, "irq", irq, "smp_affinity_list"), list+"\n")
	}
	for index, shown := range map[int]bool{lo.Index: true, lo.Index + 1: false} {
		write(t, filepath.Join(card, "ifindex"), strconv.Itoa(index)+"\n")
		var rps, interrupts []string
		if shown {
			rps, interrupts = []string{"0", "c"}, []string{"0", "2-3"}
		}
		n, err := NIC("lo", proc, sys)
		if err != nil || n.Device != "lo" || n.MTU != lo.MTU || n.Receive != 1 || n.Transmit != 1 || len(n.Offloads) == 0 {
			t.Errorf("%+v, %v", n, err)
		}
		if !slices.Equal(n.RPS, rps) || !slices.Equal(n.Interrupts, interrupts) {
			t.Errorf("device %d: RPS %q, want %q; interrupts %q, want %q", index, n.RPS, rps, n.Interrupts, interrupts)
		}
	}
}

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
	iferr.Fatal(t, nl.Ethtool("", func(tool *ethtool.Ethtool) error {
		_, err := tool.SetCoalesce("tap9", ethtool.Coalesce{RxMaxCoalescedFrames: 16})
		return err
	}))
	if n, err := NIC("tap9", "/proc", "/sys"); err != nil || n.Coalesce == nil || *n.Coalesce != (record.Coalesce{RxFrames: 16}) {
		t.Errorf("%+v, %v", n.Coalesce, err)
	}
	if n, err := NIC("lo", "/proc", "/sys"); err != nil || n.Coalesce != nil || n.ReceiveRing != 0 {
		t.Errorf("lo: %+v, %v", n, err)
	}
	is := ethtool.Coalesce{RxCoalesceUsecs: 3, RxMaxCoalescedFrames: 64, TxCoalesceUsecs: 8, TxMaxCoalescedFrames: 32, UseAdaptiveRxCoalesce: 1}
	if got := coalesce(is); *got != (record.Coalesce{AdaptiveRx: true, TxUsecs: 8, TxFrames: 32}) {
		t.Errorf("an adaptive card: %+v", got)
	}
}

// TestChecksumsByKind has cards that do checksums of any packet, of IPv4 and IPv6 each, and none.
func TestChecksumsByKind(t *testing.T) {
	const any, four, six = "tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"
	for _, c := range []struct {
		state map[string]bool
		want  map[string]bool
	}{
		{map[string]bool{any: true, four: false, six: false}, map[string]bool{"tx-checksum": true}},
		{map[string]bool{any: false, four: true, six: true}, map[string]bool{"tx-checksum": true}},
		{map[string]bool{any: false, four: false, six: false}, map[string]bool{"tx-checksum": false}},
		{map[string]bool{"highdma": true}, nil},
	} {
		if got := offloadsOf(c.state); !maps.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.state, got, c.want)
		}
	}
}
