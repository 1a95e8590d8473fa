package nl

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/wrap"
)

// FirewallTable is a table of nftables. The tables of an iptables that is built on nftables are
// included.
type FirewallTable struct {
	Name   string
	Family nftables.TableFamily
}

// FirewallTables lists the tables of the namespace at path.
func FirewallTables(path string) (all []FirewallTable, err error) {
	err = inFirewall(path, func(conn *nftables.Conn) error {
		tables, err := conn.ListTables()
		for _, t := range tables {
			all = append(all, FirewallTable{t.Name, t.Family})
		}
		return err
	})
	return all, wrap.Error(err, "list firewall tables")
}

// RemoveFirewallTables removes all tables except some, with their contents.
func RemoveFirewallTables(path string, but []FirewallTable) error {
	all, err := FirewallTables(path)
	if err != nil {
		return err
	}
	var names []string
	err = inFirewall(path, func(conn *nftables.Conn) error {
		for _, t := range all {
			if slices.Contains(but, t) {
				continue
			}
			names = append(names, t.Name)
			conn.DelTable(&nftables.Table{Name: t.Name, Family: t.Family})
		}
		return conn.Flush()
	})
	return wrap.Error(err, "remove firewall tables %s", strings.Join(names, ", "))
}

// inFirewall calls fn with a connection to nftables of the namespace at path.
func inFirewall(path string, fn func(*nftables.Conn) error) error {
	return netns.Do(path, func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		return fn(conn)
	})
}

// ForgetUDP makes the namespace at path forget its connection tracking entries of datagrams to ports
// first to last of some addresses. A host that saw a datagram before it had its rules for address
// translation leaves all later ones from the same port untranslated, as long as they keep coming.
func ForgetUDP(path string, to []netip.Addr, first, last int) error {
	h, err := connect(path, unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("connection tracking netlink socket: %w", err)
	}
	defer h.Close()
	for _, family := range []netlink.InetFamily{unix.AF_INET, unix.AF_INET6} {
		_, err := ask(func() (uint, error) {
			return h.ConntrackDeleteFilters(netlink.ConntrackTable, family, datagrams{to, first, last})
		})
		if err = unless(err, unix.ENOENT); err != nil { // entries that ended meanwhile
			return fmt.Errorf("forget datagrams to %v in %s: %w", to, path, err)
		}
	}
	return nil
}

// datagrams matches datagrams to some addresses and ports.
type datagrams struct {
	to          []netip.Addr
	first, last int
}

func (d datagrams) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	port := int(f.Forward.DstPort)
	if f.Forward.Protocol != unix.IPPROTO_UDP || port < d.first || port > d.last {
		return false
	}
	return slices.ContainsFunc(d.to, func(a netip.Addr) bool { return f.Forward.DstIP.Equal(a.AsSlice()) })
}
