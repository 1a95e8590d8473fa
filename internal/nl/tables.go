package nl

import (
	"fmt"
	"slices"

	"github.com/google/nftables"

	"nettoll/internal/netns"
)

// Table is a table of firewall rules.
type Table struct {
	Name   string
	Family byte // NFPROTO_INET, NFPROTO_IPV4, …
}

// Tables lists the firewall tables of the namespace at path, those of iptables-nft among
// them.
func Tables(path string) (all []Table, err error) {
	err = netns.Do(path, func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		tables, err := conn.ListTables()
		for _, t := range tables {
			all = append(all, Table{t.Name, byte(t.Family)})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list firewall tables: %w", err)
	}
	return all, nil
}

// RemoveTables removes all firewall tables but some, with what is in them.
func RemoveTables(path string, but []Table) error {
	all, err := Tables(path)
	if err != nil {
		return err
	}
	err = netns.Do(path, func() error {
		conn, err := nftables.New()
		if err != nil {
			return err
		}
		for _, t := range all {
			if !slices.Contains(but, t) {
				conn.DelTable(&nftables.Table{Name: t.Name, Family: nftables.TableFamily(t.Family)})
			}
		}
		return conn.Flush()
	})
	if err != nil {
		return fmt.Errorf("remove firewall tables: %w", err)
	}
	return nil
}
