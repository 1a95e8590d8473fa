package ovs

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/record"
)

// check checks that the bridges of every host are in the requested datapath.
func (b *build) check(ctx context.Context) error {
	for _, v := range b.vswitches {
		text, err := ask(ctx, v.control(), "dpif/show")
		if err != nil {
			return fmt.Errorf("%s: %w", v.daemon, err)
		}
		if finding := misplaced(text, b.tech.datapath); finding != "" {
			return &network.WrongPath{Finding: fmt.Sprintf("%s on %s: %s", bridge, v.host.Name(), finding)}
		}
	}
	return nil
}

var datapathLine = regexp.MustCompile(`(?m)^(\w+)@[^:]+:`)

// misplaced returns what is wrong with an answer to dpif/show, which lists datapaths and the
// bridges in each, or "" if nothing is.
func misplaced(show, want string) string {
	var is []string
	for _, m := range datapathLine.FindAllStringSubmatch(show, -1) {
		if m[1] == want {
			continue
		}
		is = append(is, m[1])
	}
	switch {
	case len(is) > 0:
		return fmt.Sprintf("the datapath is %s instead of %s", strings.Join(is, " and "), want)
	case !strings.Contains(show, "\n  "+bridge+":"):
		return "the bridge is in no datapath"
	}
	return ""
}

// tso is the kernel's name for TCP segmentation offload.
const tso = "tx-tcp-segmentation"

// segments checks that ovs-vswitchd accepts segments of any size from the container: if it does
// not, it reports this only in its log.
func segments(n *plumb.Node) error {
	on, err := nl.Offload(n.NS, n.Device, tso)
	if err == nil && !on {
		err = &network.WrongPath{Finding: "ovs-vswitchd was given userspace-tso-enable but does not offer " + tso + " to the container"}
	}
	return err
}

var modeInUse = regexp.MustCompile(`(?m)^  port \d+: .*xdp-mode-in-use=([\w-]+)`)

// modes notes the mode in which AF_XDP ports work, the best that the driver and the kernel support.
func (b *build) modes(ctx context.Context) error {
	if b.tech.ports != afxdp {
		return nil
	}
	for _, v := range b.vswitches {
		text, err := ask(ctx, v.control(), "dpctl/show")
		if err != nil {
			return fmt.Errorf("%s: %w", v.daemon, err)
		}
		in := record.Distinct(modeInUse.FindAllStringSubmatch(text, -1), func(m []string) string { return m[1] })
		slices.Sort(in)
		if len(in) == 0 {
			return &network.WrongPath{Finding: bridge + " on " + v.host.Name() + " has no AF_XDP ports"}
		}
		b.Notes = append(b.Notes, fmt.Sprintf("AF_XDP ports of %s are in the mode %s", v.host.Name(), strings.Join(in, " and ")))
	}
	return nil
}
