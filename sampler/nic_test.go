package sampler

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
