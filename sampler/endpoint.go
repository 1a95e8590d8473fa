package sampler

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/safchain/ethtool"

	"nettoll/internal/nl"
	"nettoll/record"
)

// Endpoint says what can make this end of a connection differ from another's:
// the device that leads to the peer, its MTU, queueing discipline and offloads,
// and the kernel parameters of TCP in this network namespace.
func Endpoint(peer netip.Addr) (record.Endpoint, error) {
	e := record.Endpoint{Sysctls: map[string]string{}}
	err := nl.With("", func(n *nl.NS) error {
		link, err := n.Toward(peer)
		if err != nil {
			return err
		}
		a := link.Attrs()
		e.Device, e.Driver, e.MTU = a.Name, link.Type(), a.MTU
		e.Qdisc, err = n.RootQdisc(link)
		return err
	})
	if err != nil {
		return e, fmt.Errorf("sampler: device toward %s: %w", peer, err)
	}
	if e.Offloads, err = offloads(e.Device); err != nil {
		return e, err
	}
	for _, key := range []string{
		"net/ipv4/tcp_congestion_control", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/core/default_qdisc",
		"net/ipv4/tcp_mtu_probing", "net/ipv4/tcp_window_scaling", "net/ipv4/tcp_timestamps", "net/ipv4/tcp_sack",
		"net/ipv4/tcp_slow_start_after_idle",
	} {
		b, err := os.ReadFile(filepath.Join("/proc/sys", key))
		if err != nil {
			continue // some are shown only outside namespaces
		}
		e.Sysctls[strings.ReplaceAll(key, "/", ".")] = strings.Join(strings.Fields(string(b)), " ")
	}
	return e, nil
}

// features are the offloads that change what a stream costs, by the kernel's
// names, and the names that ethtool -K gives them.
var features = map[string]string{
	"tx-tcp-segmentation":     "tso",
	"tx-generic-segmentation": "gso",
	"rx-gro":                  "gro",
	"rx-lro":                  "lro",
	"tx-checksum-ip-generic":  "tx-checksum",
	"rx-checksum":             "rx-checksum",
	"tx-scatter-gather":       "sg",
	"tx-udp-segmentation":     "udp-gso",
}

func offloads(device string) (map[string]bool, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("sampler: ethtool: %w", err)
	}
	defer tool.Close()
	state, err := tool.Features(device)
	if err != nil {
		return nil, fmt.Errorf("sampler: offloads of %s: %w", device, err)
	}
	on := make(map[string]bool)
	for kernel, name := range features {
		if v, ok := state[kernel]; ok {
			on[name] = v
		}
	}
	return on, nil
}
