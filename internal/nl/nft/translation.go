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
	ns, err := os.Open(path)
	if err != nil {
		return all, fmt.Errorf("nft: open network namespace: %w", err)
	}
	defer ns.Close()
	conn, err := nftables.New()
	if err != nil {
		return all, fmt.Errorf("nft: %w", err)
	}
	family := nftables.TableFamilyIPv4
	if to.Is6() {
		family = nftables.TableFamilyIPv6
	}
	err = netns.In(int(ns.Fd()), func() error {
		chains, err := conn.ListChainsOfTableFamily(family)
		for _, c := range chains {
			if c.Table.Name != table {
				continue
			}
			all.Table = true
			rules, err := conn.GetRules(c.Table, c)
			if err != nil {
				return err
			}
			for _, r := range rules {
				all.add(r.Exprs, to.AsSlice())
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return all, fmt.Errorf("nft: read table %s: %w", table, err)
	}
	return all, nil
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
