package nft

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// A Translation is what rules of others, which direct connections to an address (dnat), have counted.
type Translation struct {
	Table   bool   // there is a table of that name
	Rules   int    // how many rules lead to the address and have a counter
	Packets uint64 // the first one of each connection: no other packet comes to rules that translate
}

// ReadTranslation reads the rules of a table of the address's IP version, in the namespace at path. No table is not an error.
func ReadTranslation(path, table string, to netip.Addr) (Translation, error) {
	var all Translation
	family := nftables.TableFamilyIPv4
	if to.Is6() {
		family = nftables.TableFamilyIPv6
	}
	err := each(path, table, family, func(_ *nftables.Chain, rules []*nftables.Rule) {
		all.Table = true
		for _, r := range rules {
			all.add(r.Exprs, to.AsSlice())
		}
	})
	return all, err
}

// Rules returns where in a table of both IP versions the rules are that have the name of a device and do not look at addresses, and those
// that forwarded packets meet first and that are for all devices, in the namespace at path. No table is not an error.
func Rules(path, table, device string) (all []string, err error) {
	named := append([]byte(device), 0)
	for _, family := range []nftables.TableFamily{nftables.TableFamilyIPv4, nftables.TableFamilyIPv6} {
		err := each(path, table, family, func(c *nftables.Chain, rules []*nftables.Rule) {
			for _, r := range rules {
				names, others, looks := false, false, false
				for _, e := range r.Exprs {
					switch e := e.(type) {
					case *expr.Cmp:
						its := bytes.HasPrefix(e.Data, named)
						names, others = names || its, others || !its && len(e.Data) == unix.IFNAMSIZ
					case *expr.Payload:
						looks = true
					}
				}
				first := c.Hooknum != nil && *c.Hooknum == *nftables.ChainHookForward
				if !looks && (names || first && !others) {
					all = append(all, fmt.Sprintf("%d %s %d", family, c.Name, r.Handle))
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// each calls do for each chain of a table. No table is not an error.
func each(path, table string, family nftables.TableFamily, do func(*nftables.Chain, []*nftables.Rule)) error {
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("nft: open network namespace: %w", err)
	}
	defer ns.Close()
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nft: %w", err)
	}
	err = netns.In(int(ns.Fd()), func() error {
		chains, err := conn.ListChainsOfTableFamily(family)
		for _, c := range chains {
			if c.Table.Name != table {
				continue
			}
			rules, err := conn.GetRules(c.Table, c)
			if err != nil {
				return err
			}
			do(c, rules)
		}
		return err
	})
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("nft: read table %s: %w", table, err)
	}
	return nil
}

// add adds a rule if it has a counter and ends with a translation of the destination to the address.
func (t *Translation) add(rule []expr.Any, to []byte) {
	var counter *expr.Counter
	loaded := map[uint32][]byte{}
	for _, e := range rule {
		switch e := e.(type) {
		case *expr.Counter:
			counter = e
		case *expr.Immediate:
			loaded[e.Register] = e.Data
		case *expr.NAT:
			if e.Type == expr.NATTypeDestNAT && counter != nil && bytes.Equal(loaded[e.RegAddrMin], to) {
				t.Rules++
				t.Packets += counter.Packets
			}
		}
	}
}
