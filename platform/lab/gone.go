package lab

import (
	"context"
	"fmt"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
)

// many is how many namespaces it takes for their removal to be worth waiting for: of
// fewer, a kernel removes what is in them in no time that could be measured.
const many = 64

// goneTime bounds the wait for the kernel.
const goneTime = time.Minute

// Gone implements platform.Lingerer: it waits until the kernel has removed the hosts that
// were closed, or ctx ends.
func (l *Lab) Gone(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, goneTime, fmt.Errorf("lab: the kernel has not removed all namespaces within %v", goneTime))
	defer cancel()
	l.mu.Lock()
	waiting := l.leaving
	l.leaving = nil
	l.mu.Unlock()
	for i, w := range waiting {
		if err := w.wait(ctx); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.leaving = append(waiting[i:], l.leaving...)
			return err
		}
		w.stays.Close()
	}
	return nil
}

// witness tells when the kernel has removed namespaces, which it does in the order in
// which they were let go. It is a pair of devices, of which one end is in a namespace that
// is let go last: when that is removed, the other end is gone as well.
type witness struct {
	stays, end *netns.NS
}

const witnessDevice = "witness"

// newWitness makes one, or gives nil where that cannot be: then nobody waits.
func newWitness(ctx context.Context) *witness {
	all, err := netns.New(ctx, 2, quiet)
	if err != nil {
		return nil
	}
	w := &witness{all[0], all[1]}
	if pair(w.stays.Path(), witnessDevice, w.end.Path(), witnessDevice, 0) != nil {
		w.stays.Close()
		w.end.Close()
		return nil
	}
	return w
}

// wait returns when the end is gone. It asks in a way that does not wait for a kernel that
// is busy with just that.
func (w *witness) wait(ctx context.Context) error {
	for {
		has, err := nl.HasDevice(w.stays.Path(), witnessDevice)
		if err != nil || !has {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// hush sets down the devices that send packets on to many others. The kernel reports that a
// multicast group is left when it removes a device, and a bridge would flood the reports of a
// thousand containers to each other, through every rule. What cannot be set down is only
// slower to remove.
func (s *site) hush() {
	for _, h := range s.hosts {
		_ = nl.With(h.NetNS(), func(n *nl.NS) error {
			all, err := n.Interfaces()
			if err != nil {
				return err
			}
			for _, d := range all {
				if d.Kind == "bridge" || d.Name == uplinkDevice { // on which macvlan devices are
					_ = n.Down(d.Name)
				}
			}
			return nil
		})
	}
}
