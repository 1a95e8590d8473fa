package flannel

import (
	"context"
	"encoding/json"
	"net/netip"
	"path/filepath"
	"strings"

	"nettoll/internal/plumb"
	"nettoll/record"
)

// prefix begins flannel's keys in etcd.
const prefix = "/coreos.com/network"

// config is flannel's configuration.
type config struct {
	Network       netip.Prefix
	SubnetMin     netip.Addr
	SubnetLen     int
	EnableIPv6    bool           `json:",omitempty"`
	IPv6Network   *netip.Prefix  `json:",omitempty"`
	IPv6SubnetLen int            `json:",omitempty"`
	Backend       map[string]any // with its Type
}

// configure writes flannel's configuration, and a lease for each host: flanneld takes over the
// lease that has its host's address, and so gets the host's subnet in the address plan.
func (b *build) configure(ctx context.Context) error {
	first := plumb.Subnet(0, false)
	c := config{Network: plumb.Segment(false), SubnetMin: first.Addr(), SubnetLen: first.Bits(), Backend: b.options()}
	if b.six {
		all := plumb.Segment(true)
		c.EnableIPv6, c.IPv6Network, c.IPv6SubnetLen = true, &all, plumb.Subnet(0, true).Bits()
	}
	if err := b.put(ctx, "config", c); err != nil {
		return err
	}
	return record.Try(b.Hosts, func(h *plumb.Host) error {
		return b.put(ctx, "subnets/"+b.key(h), struct{ PublicIP netip.Addr }{h.Uplink().Addr4.Addr()})
	})
}

func (b *build) put(ctx context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.store.Put(ctx, prefix+"/"+key, string(text))
}

// key returns the name of a host's lease in etcd, such as 198.19.16.0-20&2001:2:0:2::-64.
func (b *build) key(h *plumb.Host) string {
	var parts []string
	_ = b.families(func(six bool) error {
		parts = append(parts, strings.Replace(plumb.Subnet(h.Index, six).String(), "/", "-", 1))
		return nil
	})
	return strings.Join(parts, "&")
}

// options returns the backend's options.
func (b *build) options() map[string]any {
	all := map[string]any{"Type": b.kind}
	if b.userspace {
		for command, script := range scripts {
			all[command] = script
		}
	}
	return all
}

// file returns the path of the file to which the flanneld of a host writes its lease.
func (b *build) file(h *plumb.Host) string { return filepath.Join(b.dir, h.Name()+".env") }

// narrow notes where flanneld gives containers a larger MTU than the device to the other hosts
// carries: their packets are sent again, smaller, once the host has reported so by ICMP, and are
// lost if such messages are. This happens for IPv6 with the vxlan backend, which ignores that outer
// IPv6 takes 20 bytes more, and with the extension backend, which does not know what its scripts
// made.
func (b *build) narrow(h *plumb.Host, mtu int) error {
	return b.families(func(six bool) error {
		return b.Narrow("flannel's "+b.kind+" backend", h, b.leads(h, six), six, mtu)
	})
}
