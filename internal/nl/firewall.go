package nl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables"

	"nettoll/internal/netns"
)

// FirewallTable is a table of nftables. The tables of iptables are such, too, where it
// is built on nftables.
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
	if err != nil {
		return nil, fmt.Errorf("list firewall tables: %w", err)
	}
	return all, nil
}

// RemoveFirewallTables removes all tables but some, with all that is in them.
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
	if err != nil {
		return fmt.Errorf("remove firewall tables %s: %w", strings.Join(names, ", "), err)
	}
	return nil
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
