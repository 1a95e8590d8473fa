package weave

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/technique"
)

const (
	// asking bounds one question.
	asking = 5 * time.Second
	// longest is more than weaver has to say, in bytes.
	longest = 1 << 20
)

// connections asks the weaver of a host.
func connections(ctx context.Context, h *plumb.Host) ([]connection, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+control+"/status/connections", nil)
	if err != nil {
		return nil, err
	}
	resp, err := daemon.HTTP(h.NS).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	// It is not available as long as its proxy and its plugin are not, which nobody wants here.
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		err = fmt.Errorf("weaver answers %s", resp.Status)
	}
	if err != nil {
		return nil, err
	}
	return parse(string(said))
}

// check wants every two hosts to be connected as the variant has it. Weavers choose that
// by themselves, for each connection, and again whenever heartbeats get lost.
func (n *network) check(ctx context.Context) error {
	for _, h := range n.Site.Hosts {
		all, err := connections(ctx, h)
		if err != nil {
			return fmt.Errorf("weaver on %s: %w", h.Name(), err)
		}
		for _, other := range n.Site.Hosts {
			if other == h {
				continue
			}
			if err := n.judge(h.Name(), other.Name(), toward(all, other), n.mtu(h.Uplink().MTU)); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge says what is wrong with a connection of containers with an MTU.
func (t Technique) judge(from, to string, c connection, mtu int) error {
	wrong := func(finding string) error {
		return &technique.WrongPath{Finding: fmt.Sprintf("%s, between %s and %s", finding, from, to)}
	}
	switch {
	case c.State != up:
		return fmt.Errorf("%s is not connected to %s: %s", from, to, c)
	case t.fast && c.Overlay == sleeve:
		return wrong("Weave fell back from its fast datapath to sleeve in silence")
	case !t.fast && c.Overlay == fastdp:
		return wrong("Weave uses its fast datapath, although it was told not to")
	case c.Overlay == undecided:
		return fmt.Errorf("%s and %s are connected and have no way to carry payload", from, to)
	case t.encrypted && !c.Encrypted:
		return wrong("Weave does not encrypt, although it was given a password")
	case !t.encrypted && c.Encrypted:
		return wrong("Weave encrypts, although it was given no password")
	case c.MTU > 0 && c.MTU < mtu:
		return fmt.Errorf("weaver carries packets of %d bytes from %s to %s, and the containers' MTU is %d", c.MTU, from, to, mtu)
	}
	return nil
}

// agree waits until the weavers carry payload as the variant has it, and says after a while
// how they do instead.
func (n *network) agree(ctx context.Context) error {
	return daemon.Until(ctx, n.turn, n.check, n.Needed...)
}
