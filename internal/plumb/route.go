package plumb

import (
	"errors"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// RouteContainers gives each host routes over the underlay to the containers of the others.
func (s *Site) RouteContainers() error {
	return record.Try(s.Hosts, func(from *Host) error {
		return nl.With(from.NS, func(n *nl.NS) error {
			for _, to := range s.Others(from) {
				for _, six := range []bool{false, true} {
					s.MadeIn(from.NS, "route to "+to.Name(), func(n *nl.NS) error { return n.Unroute(Subnet(to.Index, six)) })
					if err := n.Route(Subnet(to.Index, six), to.OnUnderlay(six), from.Uplink().Device); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// Routes are routes to the containers of other hosts that daemons write.
type Routes struct {
	Site     *Site
	Families []bool // whether it is IPv6, for each family that is carried
	// Block returns the destination of the route to a host; nil means its Subnet.
	Block func(to *Host, six bool) netip.Prefix
	// Device returns the device of a host's routes; nil means its uplink.
	Device func(from *Host, six bool) string
}

// To returns the destination of the route to a host.
func (r Routes) To(h *Host, six bool) netip.Prefix {
	if r.Block == nil {
		return Subnet(h.Index, six)
	}
	return r.Block(h, six)
}

// Reach returns an error if a host lacks a route to another host.
func (r Routes) Reach(from *Host) error {
	devices, err := from.RouteDevices()
	if err != nil {
		return err
	}
	for _, to := range r.Site.Others(from) {
		for _, six := range r.Families {
			want := from.Uplink().Device
			if r.Device != nil {
				want = r.Device(from, six)
			}
			if devices[r.To(to, six)] != want {
				return fmt.Errorf("no route to %s of %s over %s", r.To(to, six), to.Name(), want)
			}
		}
	}
	return nil
}

// Lost returns an error if a route has disappeared although the daemons still run.
func (r Routes) Lost(daemon string) error {
	return record.Try(r.Site.Hosts, func(h *Host) error {
		return wrap.Error(r.Reach(h), "%s on %s has lost another host", daemon, h.Name())
	})
}

// Forget pushes the removal of a host's routes, including the route for its own whole block.
// Daemons remove them themselves unless they are killed.
func (r Routes) Forget(h *Host) {
	r.Site.MadeIn(h.NS, "routes to other hosts", func(n *nl.NS) error {
		var errs []error
		for _, to := range r.Site.Hosts {
			for _, six := range r.Families {
				errs = append(errs, n.Unroute(r.To(to, six)))
			}
		}
		return errors.Join(errs...)
	})
}

// RouteDevices returns the device of each of the host's routes that has one.
func (h *Host) RouteDevices() (map[netip.Prefix]string, error) {
	return nl.Ask(h.NS, (*nl.NS).RouteDevices)
}
