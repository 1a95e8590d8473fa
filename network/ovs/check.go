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
)

// check says of every host whether its bridges are in the datapath that was asked for.
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

// misplaced says what is wrong with an answer to dpif/show, which lists datapaths and the
// bridges in each.
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
		return fmt.Sprintf("the datapath is %s, which was to be %s", strings.Join(is, " and "), want)
	case !strings.Contains(show, "\n  "+bridge+":"):
		return "the bridge is in no datapath"
	}
	return ""
}

// tso is the kernel's name for TCP segmentation offload.
const tso = "tx-tcp-segmentation"

// segments makes sure that ovs-vswitchd takes segments of any size from the container: it says only in
// its log when it does not.
func segments(n *plumb.Node) error {
	on, err := nl.Offload(n.NS, n.Device, tso)
	if err == nil && !on {
		err = &network.WrongPath{Finding: "ovs-vswitchd was told userspace-tso-enable and does not offer " + tso + " to the container"}
	}
	return err
}

var modeInUse = regexp.MustCompile(`(?m)^  port \d+: .*xdp-mode-in-use=([\w-]+)`)

// modes notes how AF_XDP ports work: that is the best that the driver and the kernel can do.
func (b *build) modes(ctx context.Context) error {
	if b.tech.ports != afxdp {
		return nil
	}
	for _, v := range b.vswitches {
		text, err := ask(ctx, v.control(), "dpctl/show")
		if err != nil {
			return fmt.Errorf("%s: %w", v.daemon, err)
		}
		var in []string
		for _, m := range modeInUse.FindAllStringSubmatch(text, -1) {
			in = append(in, m[1])
		}
		slices.Sort(in)
		in = slices.Compact(in)
		if len(in) == 0 {
			return &network.WrongPath{Finding: bridge + " on " + v.host.Name() + " has no AF_XDP ports"}
		}
		b.Notes = append(b.Notes, fmt.Sprintf("AF_XDP ports of %s are in the mode %s", v.host.Name(), strings.Join(in, " and ")))
	}
	return nil
}
