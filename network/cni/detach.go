package cni

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// detach takes from the containers what they were given, as long as it is given time.
func (a *attacher) detach(ctx context.Context) error {
	a.mu.Lock()
	begun := a.begun
	a.begun = nil
	a.mu.Unlock()
	var mu sync.Mutex
	var errs []error
	asked := 0
	early := each(ctx, begun, func(ctx context.Context, n *plumb.Node) error {
		c := a.on[n.Host]
		err := c.DelNetworkList(ctx, c.list, a.conf(n))
		if ctx.Err() != nil {
			return nil // it was cut short
		}
		mu.Lock()
		defer mu.Unlock()
		asked++
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.Name(), err))
		}
		return nil // the others are to be detached all the same
	})
	if asked < len(begun) {
		errs = append(errs, fmt.Errorf("not all were detached: the plugins were done with %d of %d containers: %w", asked, len(begun), early))
	}
	return errors.Join(errs...)
}

// keepDevices pushes the removal of devices that plugins make on hosts and leave there, as
// bridges.
func (a *attacher) keepDevices() error {
	for _, h := range a.site.Hosts {
		before, err := devices(h.NS)
		if err != nil {
			return err
		}
		a.site.Made("devices of plugins", func(context.Context) error {
			now, err := devices(h.NS)
			if err != nil {
				return err
			}
			return nl.With(h.NS, func(in *nl.NS) error {
				var errs []error
				for index, d := range now {
					if _, was := before[index]; !was {
						errs = append(errs, in.Remove(d.Name))
					}
				}
				return errors.Join(errs...)
			})
		})
	}
	return nil
}

// devices are those of a namespace, by index.
func devices(ns string) (map[int]nl.Interface, error) {
	by := map[int]nl.Interface{}
	err := nl.With(ns, func(in *nl.NS) error {
		all, err := in.Interfaces()
		for _, d := range all {
			by[d.Index] = d
		}
		return err
	})
	return by, err
}
