package sampler

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
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
	write(t, filepath.Join(card, "device/local_cpulist"), "0-1,4\n")
	write(t, filepath.Join(sys, "devices/system/cpu/online"), "0-7\n")
	for index, shown := range map[int]bool{lo.Index: true, lo.Index + 1: false} {
		write(t, filepath.Join(card, "ifindex"), strconv.Itoa(index)+"\n")
		var rps, interrupts []string
		var near []int
		if shown {
			rps, interrupts, near = []string{"0", "c"}, []string{"0", "2-3"}, []int{0, 1, 4}
		}
		n, err := NIC("lo", proc, sys)
		if err != nil || n.Device != "lo" || n.MTU != lo.MTU || n.Receive != 1 || n.Transmit != 1 || len(n.Offloads) == 0 {
			t.Errorf("%+v, %v", n, err)
		}
		if !slices.Equal(n.RPS, rps) || !slices.Equal(n.Interrupts, interrupts) {
			t.Errorf("device %d: RPS %q, want %q; interrupts %q, want %q", index, n.RPS, rps, n.Interrupts, interrupts)
		}
		if !slices.Equal(n.Near, near) {
			t.Errorf("device %d: near CPUs %v, want %v", index, n.Near, near)
		}
	}
	write(t, filepath.Join(card, "ifindex"), strconv.Itoa(lo.Index)+"\n")
	write(t, filepath.Join(card, "device/local_cpulist"), "0-7\n") // of a machine without NUMA nodes
	if n, err := NIC("lo", proc, sys); err != nil || n.Near != nil {
		t.Errorf("near CPUs %v, %v: all are", n.Near, err)
	}
}

// TestChecksumsByKind has cards that do checksums of any packet, of IPv4 and IPv6 each, and none.
func TestChecksumsByKind(t *testing.T) {
	const any, four, six = "tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"
	on, off := nl.Feature{On: true}, nl.Feature{}
	for _, c := range []struct {
		state map[string]nl.Feature
		want  map[string]bool
	}{
		{map[string]nl.Feature{any: on, four: off, six: off}, map[string]bool{"tx-checksum": true}},
		{map[string]nl.Feature{any: off, four: on, six: on}, map[string]bool{"tx-checksum": true}},
		{map[string]nl.Feature{any: off, four: off, six: off}, map[string]bool{"tx-checksum": false}},
		{map[string]nl.Feature{"highdma": on}, nil},
	} {
		if got := offloadsOf(c.state); !maps.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.state, got, c.want)
		}
	}
}
