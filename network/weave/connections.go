package weave

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/plumb"
)

// connection is one between two weavers, as "weave status connections" has it.
type connection struct {
	Peer      netip.Addr
	State     string
	Overlay   string // of one that is established: sleeve, fastdp
	Encrypted bool
	MTU       int    // that it carries, in bytes; 0 is not known (yet)
	Detail    string // what else is said of it
}

// States of connections.
const up = "established"

var states = []string{up, "pending", "waiting", "retrying", "failed", "connecting"}

// How payload is carried.
const (
	sleeve = "sleeve"
	fastdp = "fastdp"
	// undecided is the overlay of a connection that has none yet.
	undecided = "none"
)

// carries is what a connection says of its MTU, after a space or another attribute without
// one. Until sleeve has tried what crosses it says unmeasured.
var carries = regexp.MustCompile(`mtu=(\d{1,5})\b`)

const unmeasured = "65535"

// parse reads the answer of weaver's /status/connections. A line of it is such as
//
//	-> 198.18.0.1:6783       established encrypted   sleeve 7a:00:00:00:00:01(h1) encrypted=truemtu=1376
//
// where the word on encryption is there only if there is a password.
func parse(text string) (all []connection, err error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		c, err := one(words)
		if err != nil {
			return nil, fmt.Errorf("connection %.200q: %w; the format of Weave Net 2.x is known", strings.TrimSpace(line), err)
		}
		all = append(all, c)
	}
	return all, nil
}

func one(words []string) (c connection, err error) {
	if len(words) < 3 || words[0] != "->" && words[0] != "<-" {
		return c, fmt.Errorf("it has no direction, address and state")
	}
	peer, err := netip.ParseAddrPort(words[1])
	if err != nil {
		return c, fmt.Errorf("its address is none: %w", err)
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
		return c, fmt.Errorf("it does not say how it carries")
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

// toward is the connection to a host, the established one where there are several.
func toward(all []connection, to *plumb.Host) connection {
	found := connection{Detail: "weaver knows of no connection"}
	for _, c := range all {
		if c.Peer == to.Uplink().Addr4.Addr() && found.State != up {
			found = c
		}
	}
	return found
}

// String is what is said of it.
func (c connection) String() string { return strings.TrimSpace(c.State + " " + c.Detail) }
