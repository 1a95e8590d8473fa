package flannel

import (
	"nettoll/internal/daemon"
)

// programs are where those are that a variant needs.
type programs struct {
	flanneld, wireguardGo, wg, ip string
}

// find looks for all of them.
func (t variant) find() (p programs, err error) {
	if _, err := daemon.FindEtcd(t.paths); err != nil {
		return p, err
	}
	// flanneld runs these two as they are in PATH.
	for _, name := range []string{"iptables", "ip6tables"} {
		if _, err := daemon.InPath(name, "apt install iptables"); err != nil {
			return p, err
		}
	}
	if p.flanneld, err = t.paths.Locate("flanneld", "make tools"); err != nil || !t.userspace {
		return p, err
	}
	if p.wireguardGo, err = t.paths.Locate("wireguard-go", "make tools"); err != nil {
		return p, err
	}
	if p.wg, err = t.paths.Locate("wg", "apt install wireguard-tools"); err != nil {
		return p, err
	}
	p.ip, err = t.paths.Locate("ip", "apt install iproute2")
	return p, err
}
