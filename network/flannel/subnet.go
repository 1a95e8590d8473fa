package flannel

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"

	"nettoll/internal/plumb"
)

// prefix is where flannel's keys begin in etcd.
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

// configure writes flannel's configuration, and a lease for each host: flanneld takes
// over the one that has its host's address, and so gets the subnet that the address
// plan gives to the host.
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
	for _, h := range b.Hosts {
		err := b.put(ctx, "subnets/"+b.key(h), struct{ PublicIP netip.Addr }{h.Uplink().Addr4.Addr()})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *build) put(ctx context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.store.Put(ctx, prefix+"/"+key, string(text))
}

// key is what flannel calls the lease of a host, such as 198.19.16.0-20&2001:2:0:2::-64.
func (b *build) key(h *plumb.Host) string {
	var parts []string
	_ = b.families(func(six bool) error {
		parts = append(parts, strings.Replace(plumb.Subnet(h.Index, six).String(), "/", "-", 1))
		return nil
	})
	return strings.Join(parts, "&")
}

// options are those of the backend.
func (b *build) options() map[string]any {
	all := map[string]any{"Type": b.kind}
	if b.userspace {
		for command, script := range scripts {
			all[command] = script
		}
	}
	return all
}
