package plumb

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/platform"
)

// Need is a feature of the kernel that a network is built from. Whether it is available is tried out
// in a new namespace, never guessed from a version.
type Need struct {
	feature, option string
	module          string // empty: the option cannot be a module
	try             func(ns string) error
	instead         string // the alternative that does without it
}

// Or sets an alternative that does without the need, for the remedy.
func (n Need) Or(instead string) Need {
	n.instead = "; " + instead + " works without it"
	return n
}

// bridgeNetfilter is the module br_netfilter, and what leaves bridges of the machine as they were: the module is turned on in all
// network namespaces.
const bridgeNetfilter = "br_netfilter && sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0"

// LoadBridgeNetfilter is the remedy where it is missing.
const LoadBridgeNetfilter = "modprobe " + bridgeNetfilter

// Needs of networks.
var (
	Veth            = linkNeed("veth devices", "CONFIG_VETH", "veth", nil)
	Netkit          = linkNeed("netkit devices", "CONFIG_NETKIT (Linux 6.7 and later)", "", func(netlink.LinkAttrs) netlink.Link { return nl.Netkit(netlink.LinkAttrs{}, netlink.LinkAttrs{}) })
	BridgeDevice    = linkNeed("bridge devices", "CONFIG_BRIDGE", "bridge", func(netlink.LinkAttrs) netlink.Link { return &netlink.Bridge{} })
	Macvlan         = linkNeed("macvlan devices", "CONFIG_MACVLAN", "macvlan", MacvlanBridge)
	IPVlanL2        = linkNeed("ipvlan devices", "CONFIG_IPVLAN", "ipvlan", IPVlan(netlink.IPVLAN_MODE_L2))
	IPVlanL3        = linkNeed("ipvlan devices", "CONFIG_IPVLAN", "ipvlan", IPVlan(netlink.IPVLAN_MODE_L3))
	VXLAN           = linkNeed("VXLAN devices", "CONFIG_VXLAN", "vxlan", func(a netlink.LinkAttrs) netlink.Link { return &netlink.Vxlan{LinkAttrs: a, VxlanId: 42, Port: 4789} })
	NAT             = Need{feature: "address translation", option: "CONFIG_NF_TABLES, CONFIG_NFT_NAT and CONFIG_NFT_FIB_INET", module: "nf_tables", try: tryRules(translating)}
	Filter          = Need{feature: "a filter of packets", option: "CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET", module: "nf_tables", try: tryRules(filtering)}
	BridgeNetfilter = Need{feature: "netfilter on bridges", option: "CONFIG_BRIDGE_NETFILTER", module: bridgeNetfilter, try: tryBridgeNetfilter}
	WireGuard       = linkNeed("WireGuard devices", "CONFIG_WIREGUARD", "wireguard", func(a netlink.LinkAttrs) netlink.Link { return &netlink.Wireguard{LinkAttrs: a} })
	IPIP            = tunnelNeed("IP-in-IP devices", "CONFIG_NET_IPIP", "ipip", nl.IPIP)
	GRE             = tunnelNeed("GRE devices", "CONFIG_NET_IPGRE", "ip_gre", nl.GRE)
	Geneve          = tunnelNeed("Geneve devices", "CONFIG_GENEVE", "geneve", nl.Geneve)
	ESP             = Need{feature: "encryption by IPsec", option: "CONFIG_XFRM_USER, CONFIG_INET_ESP and CONFIG_CRYPTO_GCM", module: "-a xfrm_user esp4 gcm", try: tryESP}
	TUN             = Need{feature: "TUN devices", option: "CONFIG_TUN", module: "tun", try: tryTUN}
	Dummy           = linkNeed("dummy devices", "CONFIG_DUMMY", "dummy", func(a netlink.LinkAttrs) netlink.Link { return &netlink.Dummy{LinkAttrs: a} })
	IPVS            = Need{feature: "IP Virtual Server", option: "CONFIG_IP_VS, CONFIG_IP_VS_IPV6, CONFIG_IP_VS_NFCT and CONFIG_IP_VS_RR", module: "-a ip_vs ip_vs_rr", try: tryIPVS}
	Datapath        = Need{feature: "Open vSwitch's kernel datapath", option: "CONFIG_OPENVSWITCH", module: "openvswitch", try: tryDatapath}
)

// Check tries the needs out. The error of the first one that is missing wraps platform.ErrUnsupported, and fs.ErrPermission too if
// this user cannot try.
func Check(ctx context.Context, needs ...Need) error {
	for _, n := range needs {
		if err := ctx.Err(); err != nil {
			return err
		}
		ns, err := netns.New(ctx, 1, func() error { return nil })
		if errors.Is(err, fs.ErrPermission) {
			return &platform.Unsupported{Feature: n.feature, Option: "root", Remedy: "run as root", Err: err}
		}
		if err != nil {
			return err
		}
		err = n.try(ns[0].Path())
		ns[0].Close()
		if missing, ok := errors.AsType[*platform.Unsupported](err); ok {
			return missing // it has the better remedy
		}
		if err != nil {
			remedy := "use a kernel that has " + n.option + n.instead
			if n.module != "" {
				remedy = "modprobe " + n.module + " as root, or " + remedy
			}
			return &platform.Unsupported{Feature: n.feature, Option: n.option, Remedy: remedy, Err: err}
		}
	}
	return nil
}

// linkNeed returns a need that tries to make a device on top of one end of a veth pair.
func linkNeed(feature, option, module string, link func(netlink.LinkAttrs) netlink.Link) Need {
	return Need{feature: feature, option: option, module: module, try: func(ns string) error {
		return nl.With(ns, func(n *nl.NS) error {
			if err := n.Add(&netlink.Veth{LinkAttrs: nl.Attrs("parent", 0), PeerName: "peer"}); err != nil || link == nil {
				return err
			}
			parent, err := n.Link("parent")
			if err != nil {
				return err
			}
			attrs := nl.Attrs("tried", 0)
			attrs.ParentIndex = parent.Attrs().Index
			l := link(attrs)
			l.Attrs().Name = attrs.Name
			return n.Add(l)
		})
	}}
}

// tunnelNeed returns a need that tries to make a tunnel to a host that need not exist.
func tunnelNeed(feature, option, module string, link func(_ netlink.LinkAttrs, local, remote netip.Addr) netlink.Link) Need {
	return linkNeed(feature, option, module, func(a netlink.LinkAttrs) netlink.Link {
		a.ParentIndex = 0 // a tunnel goes wherever the route to its remote end goes
		return link(a, someHost, someHost.Next())
	})
}

// someHost is an address on the underlay.
var someHost = netip.AddrFrom4([4]byte{198, 18, 0, 1})

func tryESP(ns string) error {
	e := nl.ESP{From: someHost, To: someHost.Next(), Src: Subnet(0, true), Dst: Subnet(1, true), SPI: 256}
	return e.Receive(ns)
}

func tryTUN(ns string) error {
	return netns.Do(ns, func() error {
		f, err := nl.TUN("tried")
		var denied *os.PathError
		switch {
		case err == nil:
			return f.Close()
		case errors.As(err, &denied) && errors.Is(err, os.ErrPermission):
			return &platform.Unsupported{
				Feature: "TUN devices", Option: "permission to open " + denied.Path,
				Remedy: "run as root, or chmod 666 " + denied.Path, Err: err,
			}
		default:
			return err
		}
	})
}

// tryRules returns a function that tries a table with rules.
func tryRules(add func(*nft.Firewall)) func(ns string) error {
	return func(ns string) error {
		fw, err := nft.New(ns, "tried")
		if err != nil {
			return err
		}
		defer fw.Close()
		add(fw)
		if err := fw.Commit(); err != nil {
			return err
		}
		return fw.Remove()
	}
}

func translating(fw *nft.Firewall) {
	fw.BaseChain("nat", nft.PostroutingNAT, false).Rule(nft.ToLocal(), nft.Masquerade())
}

func filtering(fw *nft.Firewall) {
	fw.BaseChain("INPUT", nft.Input, false).Rule(nft.In("tried"), nft.Drop())
}

func tryBridgeNetfilter(ns string) error {
	_, err := netns.Sysctl(ns, netns.BridgeNetfilter[0])
	return err
}

func tryIPVS(ns string) error { return nl.HasFamily(ns, "IPVS") }

func tryDatapath(ns string) error { return nl.HasFamily(ns, "ovs_datapath") }
