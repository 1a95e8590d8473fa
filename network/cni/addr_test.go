package cni_test

import (
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

const twice = "use host-local, or a subnet for each host that is not the underlay's"

func TestAddressThatTwoContainersHave(t *testing.T) {
	list, err := cni.Load(write(t, `{"cniVersion": "1.0.0", "name": "fixed", "plugins": [{"type": "bridge", "bridge": "br-fixed",
		"ipam": {"type": "static", "addresses": [{"address": "10.79.0.2/16"}]}}]}`))
	iferr.Fatal(t, err)
	tech := cni.New(list, cni.Usual())
	platformtest.Require(t, "static", tech.Probe(t.Context(), lab.New()))
	for _, hosts := range []int{1, 2} {
		want := map[int]string{
			1: "the plugins gave h1c2 the address 10.79.0.2, which h1c1 has: " + twice,
			2: "the plugins gave h2c1 the address 10.79.0.2, which h1c1 has: " + twice,
		}[hosts]
		_, err := tech.Connect(t.Context(), network.Topology{Hosts: hosts, Servers: 1, Clients: 1}, lab.New())
		if err == nil || err.Error() != want {
			t.Errorf("%d hosts: %v, want %s", hosts, err, want)
		}
	}
}

func TestAddressThatAHostHas(t *testing.T) {
	in := cni.Folders{script(t, "under", makes+`
nsenter --net="$CNI_NETNS" ip addr add 198.18.0.${CNI_CONTAINERID##*c}/16 dev eth0
echo '{"cniVersion": "1.0.0"}'`)}
	_, err := cni.New(conflist(t, "1.0.0", "under"), in).Connect(t.Context(), pair, lab.New())
	want := "the plugins gave h1c1 the address 198.18.0.1, which h1 has: " + twice
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
