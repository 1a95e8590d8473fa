package calico

import (
	"nettoll/internal/bird"
	"nettoll/internal/daemon"
)

// programs are where the programs are.
type programs struct{ felix, ipset, save4, save6 string }

func (t Technique) programs() (programs, error) {
	var p programs
	for _, want := range []struct {
		path      *string
		name, get string
	}{
		{&p.felix, "calico-felix", "make tools"},
		// Felix runs these two.
		{&p.ipset, "ipset", "apt install ipset"},
		{&p.save4, "iptables-nft-save", "apt install iptables"},
		{&p.save6, "ip6tables-nft-save", "apt install iptables"},
	} {
		var err error
		if *want.path, err = daemon.Find(t.paths, want.name, want.get); err != nil {
			return p, err
		}
	}
	_, err := daemon.FindEtcd(t.paths)
	if err != nil || t.way == vxlan {
		return p, err // felix knows the way to the other hosts
	}
	_, err = bird.Find(t.paths)
	return p, err
}
