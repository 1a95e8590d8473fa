package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
)

// many is the number of namespaces above which their removal is worth waiting for: with fewer, the kernel removes
// their contents in no measurable time.
const many = 64

// goneTime bounds the wait for the kernel.
const goneTime = time.Minute

// Gone waits until the kernel has removed the hosts that were closed, or ctx ends: see platform.Info.
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

// witness detects when the kernel has removed namespaces, which it does in the order in which they were released.
// It is a pair of devices with one end in a namespace that is released last: when that namespace is removed, the
// other end is gone as well.
type witness struct {
	stays, end *netns.NS
}

const witnessDevice = "witness"

// newWitness makes a witness, or returns nil if that is not possible: then nothing waits.
func newWitness(ctx context.Context) *witness {
	all, err := quietly(ctx, 2, nothing)
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

// wait returns when the end is gone. It polls in a way that does not itself wait for a kernel that is busy with the
// removal.
func (w *witness) wait(ctx context.Context) error {
	return await.Until(ctx, 0, 10*time.Millisecond, func(context.Context) (missing, err error) {
		has, err := nl.HasDevice(w.stays.Path(), witnessDevice)
		if has {
			missing = errors.New("a device is still there")
		}
		return missing, err
	})
}

// hush sets down the devices that forward packets to many others. The kernel sends a report that a multicast group
// is left when it removes a device, and a bridge would flood the reports of a thousand containers to all others,
// through every rule. A device that cannot be set down is only slower to remove.
func (s *site) hush() {
	for _, h := range s.hosts {
		_ = nl.With(h.NetNS(), func(n *nl.NS) error {
			all, err := n.Interfaces()
			if err != nil {
				return err
			}
			for _, d := range all {
				if d.Kind == "bridge" || d.Name == uplinkDevice { // macvlan devices are on the uplink
					_ = n.Down(d.Name)
				}
			}
			return nil
		})
	}
}
