package plumb

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
)

// RouteContainers leads each host to the containers of the others over the underlay.
func (s *Site) RouteContainers() error {
	for _, from := range s.Hosts {
		err := nl.With(from.NS, func(n *nl.NS) error {
			for _, to := range s.Hosts {
				if to == from {
					continue
				}
				err := both(func(six bool) error {
					s.Made("route to "+to.Name(), func(context.Context) error {
						return nl.With(from.NS, func(n *nl.NS) error { return n.Unroute(Subnet(to.Index, six)) })
					})
					return n.Route(Subnet(to.Index, six), to.addr(six), from.Uplink().Device)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Routes are those to the containers of other hosts which daemons write.
type Routes struct {
	Site     *Site
	Families []bool // of each that is carried, whether it is IPv6
	// Block is what a route to a host is for; nil is its Subnet.
	Block func(to *Host, six bool) netip.Prefix
	// Device is what routes of a host lead to; nil is its uplink.
	Device func(from *Host, six bool) string
}

// To is what routes to a host are for.
func (r Routes) To(h *Host, six bool) netip.Prefix {
	if r.Block == nil {
		return Subnet(h.Index, six)
	}
	return r.Block(h, six)
}

func (r Routes) device(h *Host, six bool) string {
	if r.Device == nil {
		return h.Uplink().Device
	}
	return r.Device(h, six)
}

// Reach says which other hosts a host has no route to.
func (r Routes) Reach(from *Host) error {
	devices, err := from.RouteDevices()
	if err != nil {
		return err
	}
	for _, to := range r.Site.Hosts {
		for _, six := range r.Families {
			want := r.device(from, six)
			if to != from && devices[r.To(to, six)] != want {
				return fmt.Errorf("no route to %s of %s over %s", r.To(to, six), to.Name(), want)
			}
		}
	}
	return nil
}

// Lost says of routes that were there which are there no more, although the daemons are.
func (r Routes) Lost(daemon string) error {
	for _, h := range r.Site.Hosts {
		if err := r.Reach(h); err != nil {
			return fmt.Errorf("%s on %s has lost another host: %w", daemon, h.Name(), err)
		}
	}
	return nil
}

// Forget pushes the removal of a host's routes, and of the one that holds its own block
// together. Daemons remove them themselves unless they are killed.
func (r Routes) Forget(h *Host) {
	r.Site.Made("routes to other hosts", func(context.Context) error {
		return nl.With(h.NS, func(n *nl.NS) error {
			var errs []error
			for _, to := range r.Site.Hosts {
				for _, six := range r.Families {
					errs = append(errs, n.Unroute(r.To(to, six)))
				}
			}
			return errors.Join(errs...)
		})
	})
}

// RouteDevices names the device of each of the host's routes that leads to one.
func (h *Host) RouteDevices() (devices map[netip.Prefix]string, err error) {
	err = nl.With(h.NS, func(n *nl.NS) error {
		devices, err = n.RouteDevices()
		return err
	})
	return devices, err
}
