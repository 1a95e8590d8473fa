package calico

import (
	"nettoll/internal/bird"
	"nettoll/internal/daemon"
)

// programs are where the programs are.
type programs struct{ felix, ipset, save4, save6 string }

func (t variant) programs() (programs, error) {
	var p programs
	var err error
	if p.felix, err = t.paths.Locate("calico-felix", "make tools"); err != nil {
		return p, err
	}
	for _, want := range []struct {
		path      *string
		name, get string
	}{
		{&p.ipset, "ipset", "apt install ipset"},
		{&p.save4, "iptables-nft-save", "apt install iptables"},
		{&p.save6, "ip6tables-nft-save", "apt install iptables"},
	} {
		if *want.path, err = daemon.InPath(want.name, want.get); err != nil {
			return p, err
		}
	}
	if _, err = daemon.FindEtcd(t.paths); err != nil || t.way == vxlan {
		return p, err // felix knows the way to the other hosts
	}
	_, err = bird.Find(t.paths)
	return p, err
}
