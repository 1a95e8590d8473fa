package flannel

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nettoll/internal/plumb"
)

// lease is what flanneld writes for those who attach containers.
type lease struct {
	subnet4, subnet6 netip.Prefix // with the gateway's address
	mtu              int          // bytes
}

// file is where the flanneld of a host writes its lease.
func (b *build) file(h *plumb.Host) string { return filepath.Join(b.dir, h.Name()+".env") }

// lease reads what the flanneld of a host has written, and holds it against the address
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
			return fmt.Errorf("flanneld leased %s, and not %s, which is the host's", got, want)
		}
		return nil
	})
	return l, err
}

// parse reads lines of the form FLANNEL_SUBNET=198.19.0.1/20.
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
	if l.mtu, err = strconv.Atoi(values["FLANNEL_MTU"]); err != nil {
		return l, fmt.Errorf("FLANNEL_MTU: %w", err)
	}
	return l, nil
}
