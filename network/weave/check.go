package weave

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
)

const (
	// asking bounds one question.
	asking = 5 * time.Second
	// longest is more than weaver has to say, in bytes.
	longest = 1 << 20
)

// ask asks the weaver of a host.
func ask(ctx context.Context, h *plumb.Host, question, format string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+control+question, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", format)
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
	return said, err
}

// connections are those of the weaver of a host.
func connections(ctx context.Context, h *plumb.Host) ([]connection, error) {
	said, err := ask(ctx, h, "/status/connections", "text/plain")
	if err != nil {
		return nil, err
	}
	return parse(string(said))
}

// routes are the names of the weavers that the one of a host knows a way to. Since Weave
// Net 2.6 weavers tell each other of a new connection a second after it is established, and
// until then they carry nothing over it, not even ARP.
func routes(ctx context.Context, h *plumb.Host) (names []string, err error) {
	said, err := ask(ctx, h, "/report", "application/json")
	if err != nil {
		return nil, err
	}
	var report struct {
		Router struct{ UnicastRoutes []struct{ Dest string } }
	}
	if err := json.Unmarshal(said, &report); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for _, r := range report.Router.UnicastRoutes {
		names = append(names, r.Dest)
	}
	return names, nil
}

// check wants every two hosts to be connected as the variant has it, and to carry payload
// over that. Weavers choose how by themselves, for each connection, and again whenever
// heartbeats get lost.
func (n *build) check(ctx context.Context) error {
	for _, h := range n.Site.Hosts {
		all, err := connections(ctx, h)
		if err != nil {
			return fmt.Errorf("weaver on %s: %w", h.Name(), err)
		}
		known, err := routes(ctx, h)
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
			if !slices.Contains(known, name(other)) {
				return fmt.Errorf("%s and %s are connected, and the weaver on %s knows no way to the other yet", h.Name(), other.Name(), h.Name())
			}
		}
	}
	return nil
}

// judge says what is wrong with a connection of containers with an MTU.
func (t variant) judge(from, to string, c connection, mtu int) error {
	wrong := func(finding string) error {
		return &network.WrongPath{Finding: fmt.Sprintf("%s, between %s and %s", finding, from, to)}
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
func (n *build) agree(ctx context.Context) error {
	return daemon.Until(ctx, n.turn, n.check, n.Needed...)
}
