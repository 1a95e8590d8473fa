package weave

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// ask sends a request to the weaver of a host. Its status is "unavailable" as long as its proxy and
// its plugin are not running, which are not used here.
func ask(ctx context.Context, h *plumb.Host, question, format string) ([]byte, error) {
	header := http.Header{"Accept": {format}}
	return daemon.Ask(ctx, h.NS, http.MethodGet, "http://"+control+question, header, nil, http.StatusServiceUnavailable)
}

// connections returns the connections of the weaver of a host.
func connections(ctx context.Context, h *plumb.Host) ([]connection, error) {
	said, err := ask(ctx, h, "/status/connections", "text/plain")
	if err != nil {
		return nil, err
	}
	return parse(string(said))
}

// routes returns the names of the weavers to which the weaver of a host knows a route. Since Weave
// Net 2.6 weavers announce a new connection to each other a second after it is established, and
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

// check checks that every two hosts are connected in the variant's way, and that payload is carried
// over that connection. Weavers choose the way by themselves, for each connection, and again
// whenever heartbeats are lost.
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
		for _, other := range n.Others(h) {
			if err := n.judge(h.Name(), other.Name(), toward(all, other), n.mtu(h.Uplink().MTU)); err != nil {
				return err
			}
			if !slices.Contains(known, name(other)) {
				return fmt.Errorf("%s and %s are connected, but the weaver on %s knows no route to the other yet", h.Name(), other.Name(), h.Name())
			}
		}
	}
	return nil
}

// judge returns what is wrong with a connection for containers with an MTU.
func (t variant) judge(from, to string, c connection, mtu int) error {
	wrong := func(finding string) error {
		return &network.WrongPath{Finding: fmt.Sprintf("%s, between %s and %s", finding, from, to)}
	}
	switch {
	case c.State != up:
		return fmt.Errorf("%s is not connected to %s: %s", from, to, c)
	case t.fast && c.Overlay == sleeve:
		return wrong("Weave fell back from its fast datapath to sleeve silently")
	case !t.fast && c.Overlay == fastdp:
		return wrong("Weave uses its fast datapath, although it was told not to")
	case c.Overlay == undecided:
		return fmt.Errorf("%s and %s are connected but have no way to carry payload", from, to)
	case t.encrypted && !c.Encrypted:
		return wrong("Weave does not encrypt, although it was given a password")
	case !t.encrypted && c.Encrypted:
		return wrong("Weave encrypts, although it was given no password")
	case c.MTU > 0 && c.MTU < mtu:
		return fmt.Errorf("weaver carries packets of %d bytes from %s to %s, but the containers' MTU is %d", c.MTU, from, to, mtu)
	}
	return nil
}

// agree waits until the weavers carry payload in the variant's way. Its error reports how they do
// instead.
func (n *build) agree(ctx context.Context) error {
	return daemon.Until(ctx, n.turn, n.check, n.Needed...)
}

// connection is a connection between two weavers, as in "weave status connections".
type connection struct {
	Peer      netip.Addr
	State     string
	Overlay   string // of an established connection: sleeve, fastdp
	Encrypted bool
	MTU       int    // the MTU that it carries, in bytes; 0 if not known (yet)
	Detail    string // the rest of the line
}

// States of connections.
const up = "established"

var states = []string{up, "pending", "waiting", "retrying", "failed", "connecting"}

// Ways to carry payload.
const (
	sleeve = "sleeve"
	fastdp = "fastdp"
	// undecided is the overlay of a connection that has none yet.
	undecided = "none"
)

// carries matches the MTU of a connection, which follows a space or, without one, another
// attribute. Until sleeve has measured what gets across it reports unmeasured.
var carries = regexp.MustCompile(`mtu=(\d{1,5})\b`)

const unmeasured = "65535"

// parse parses the answer to /status/connections of weaver. An example of a line is
//
//	-> 198.18.0.1:6783       established encrypted   sleeve 7a:00:00:00:00:01(h1) encrypted=truemtu=1376
//
// where the word about encryption is present only if there is a password.
func parse(text string) (all []connection, err error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		c, err := one(words)
		if err != nil {
			return nil, fmt.Errorf("connection %.200q: %w; only the format of Weave Net 2.x is known", strings.TrimSpace(line), err)
		}
		all = append(all, c)
	}
	return all, nil
}

func one(words []string) (c connection, err error) {
	if len(words) < 3 || words[0] != "->" && words[0] != "<-" {
		return c, fmt.Errorf("it lacks a direction, an address or a state")
	}
	peer, err := netip.ParseAddrPort(words[1])
	if err != nil {
		return c, fmt.Errorf("its address is invalid: %w", err)
	}
	c.Peer, c.State, words = peer.Addr().Unmap(), words[2], words[3:]
	if !slices.Contains(states, c.State) {
		return c, fmt.Errorf("the state %q is not known", c.State)
	}
	c.Detail = strings.Join(words, " ")
	if c.State != up {
		return c, nil
	}
	if len(words) > 0 && (words[0] == "encrypted" || words[0] == "unencrypted") {
		c.Encrypted, words = words[0] == "encrypted", words[1:]
	}
	if len(words) == 0 {
		return c, fmt.Errorf("it does not say how it carries payload")
	}
	c.Overlay = words[0]
	if !slices.Contains([]string{sleeve, fastdp, undecided}, c.Overlay) {
		return c, fmt.Errorf("the overlay %q is not known", c.Overlay)
	}
	if m := carries.FindStringSubmatch(c.Detail); m != nil && m[1] != unmeasured {
		if c.MTU, err = strconv.Atoi(m[1]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// toward returns the connection to a host, the established one if there are several.
func toward(all []connection, to *plumb.Host) connection {
	found := connection{Detail: "weaver knows of no connection"}
	for _, c := range all {
		if c.Peer == to.Uplink().Addr4.Addr() && found.State != up {
			found = c
		}
	}
	return found
}

// String returns the connection's state and detail.
func (c connection) String() string { return strings.TrimSpace(c.State + " " + c.Detail) }
