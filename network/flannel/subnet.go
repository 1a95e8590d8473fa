package flannel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
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

// lease holds the parameters that flanneld writes for programs that attach containers.
type lease struct {
	subnet4, subnet6 netip.Prefix // with the gateway's address
	mtu              int          // bytes
}

// file returns the path of the file to which the flanneld of a host writes its lease.
func (b *build) file(h *plumb.Host) string { return filepath.Join(b.dir, h.Name()+".env") }

// lease reads the lease that the flanneld of a host has written, and checks it against the address
// plan.
func (b *build) lease(h *plumb.Host) (lease, error) {
	text, err := os.ReadFile(b.file(h))
	if err != nil {
		return lease{}, fmt.Errorf("flanneld's subnet file: %w", err)
	}
	l, err := parse(string(text), b.six)
	if err != nil {
		return l, fmt.Errorf("flanneld's subnet file: %w", err)
	}
	err = b.families(func(six bool) error {
		got, want := l.subnet4, netip.PrefixFrom(plumb.Gateway(h.Index, six), plumb.Subnet(h.Index, six).Bits())
		if six {
			got = l.subnet6
		}
		if got != want {
			return fmt.Errorf("flanneld leased %s, not the host's %s", got, want)
		}
		return nil
	})
	return l, err
}

// parse parses lines of the form FLANNEL_SUBNET=198.19.0.1/20.
func parse(text string, six bool) (l lease, err error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	if l.subnet4, err = netip.ParsePrefix(values["FLANNEL_SUBNET"]); err != nil {
		return l, fmt.Errorf("FLANNEL_SUBNET: %w", err)
	}
	if six {
		if l.subnet6, err = netip.ParsePrefix(values["FLANNEL_IPV6_SUBNET"]); err != nil {
			return l, fmt.Errorf("FLANNEL_IPV6_SUBNET: %w", err)
		}
	}
	l.mtu, err = strconv.Atoi(values["FLANNEL_MTU"])
	return l, wrap.Error(err, "FLANNEL_MTU")
}

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
