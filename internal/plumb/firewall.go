package plumb

import (
	"context"

	"nettoll/internal/nl"
)

// ForgetTables pushes the removal of the firewall tables that appear on a host from now on.
func (s *Site) ForgetTables(h *Host) error {
	before, err := nl.FirewallTables(h.NS)
	if err != nil {
		return err
	}
	s.Made("firewall tables of "+h.Name(), func(context.Context) error { return nl.RemoveFirewallTables(h.NS, before) })
	return nil
}
