package cni_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// mine is a typical conflist of a user: IPv4, the user's own addresses, masquerading.
const mine = `{"cniVersion": "0.4.0", "name": "Mine.1", "plugins": [
	{"type": "bridge", "bridge": "br-mine", "isDefaultGateway": true, "ipMasq": true,
	 "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.77.0.0/16"}]]}},
	{"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}}
]}`

func users(t *testing.T, text string) network.Driver {
	t.Helper()
	list, err := cni.Load(write(t, text))
	iferr.Fatal(t, err)
	tech := cni.New(list, cni.Usual())
	err = tech.Probe(t.Context(), lab.New())
	platformtest.Require(t, "bridge", err)
	_, err = exec.LookPath("iptables") // with which the plugin masquerades
	platformtest.Require(t, "iptables", err)
	return tech
}

func cell(tech network.Driver, hosts, family, servers, clients int) record.Cell {
	return record.Cell{
		Network: tech.Name, Hosts: hosts, Family: family, Servers: servers, Clients: clients,
		Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
	}
}

// measured checks that a pair on two hosts can be measured.
func measured(t *testing.T, tech network.Driver, family int) {
	t.Helper()
	for _, trial := range networktest.Measure(t, lab.New(), tech, []record.Cell{cell(tech, 2, family, 1, 1)}) {
		if trial.Status != record.OK {
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		}
	}
}

// path returns the names of the hops between the first client and its server.
func path(n *network.Network, f network.Family) string {
	hops := n.Path(n.Clients[0], n.Servers[0], f)
	return strings.Join(record.Each(hops, func(h network.Hop) string { return h.Name }), " ")
}

func TestUsersConflist(t *testing.T) {
	tech := users(t, mine)
	if tech.Name != "cni-mine.1" || !strings.HasSuffix(tech.About, ": bridge, tuning") {
		t.Errorf("%s: %s", tech.Name, tech.About)
	}
	var cells []record.Cell
	for _, family := range []int{4, 6} {
		cells = append(cells, cell(tech, 1, family, 2, 3))
	}
	for _, trial := range networktest.Measure(t, lab.New(), tech, cells) {
		switch trial.Cell.Family {
		case 4:
			if trial.Status != record.OK {
				t.Errorf("IPv4: %s: %s", trial.Status, trial.Reason)
			}
		case 6:
			if trial.Status != record.Skipped || !strings.HasPrefix(trial.Reason, "IPv6: not supported here") || trial.Remedy == "" {
				t.Errorf("IPv6: %s: %s (%s)", trial.Status, trial.Reason, trial.Remedy)
			}
		}
	}
	if _, err := os.Stat("/var/lib/cni/networks/Mine.1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("host-local has left something on this machine: %v", err)
	}
}

func TestUsersConflistIsTakenDown(t *testing.T) {
	tech := users(t, mine)
	n, err := tech.Connect(t.Context(), pair, lab.New())
	iferr.Fatal(t, err)
	client, server := n.Clients[0], n.Servers[0]
	addr, err := n.Addr(client, server, network.IPv4)
	if err != nil || !netip.MustParsePrefix("10.77.0.0/16").Contains(addr) {
		t.Errorf("%v, %v", addr, err)
	}
	if got := path(n, network.IPv4); got != "h1c2/eth0 h1/veth-h1c2 h1/veth-h1c1 h1c1/eth0" {
		t.Error(got)
	}
	iferr.Error(t, n.Close(context.Background()))
}

// A bridge of one host does not lead to another, which is reported before anything is tried.
func TestUsersConflistThatLeadsNowhere(t *testing.T) {
	tech := users(t, mine)
	_, err := tech.Connect(t.Context(), networktest.Pair, lab.New())
	if !errors.Is(err, platform.ErrUnsupported) || !strings.HasSuffix(err.Error(), "to reach h1c1 at 10.77.0.2, h2 expects it on br-mine, which has no ports but those of containers") {
		t.Error(err)
	}
}

// Hosts share host-local's state, so that no address is assigned twice. It is the network's own, wherever the conflist has it.
func TestUsersMacvlanBetweenHosts(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	tech := users(t, `{"cniVersion": "1.0.0", "name": "flat", "plugins": [{"type": "macvlan", "master": "eth0", "mode": "bridge",
		"ipam": {"type": "host-local", "dataDir": "`+state+`", "ranges": [[{"subnet": "10.78.0.0/16"}], [{"subnet": "fd00:78::/64"}]]}}]}`)
	measured(t, tech, 6)
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("host-local has used the machine's folder: %v", err)
	}
}

// between is a plugin that works like those of clusters: a bridge with its own subnet on each host,
// and routes to the others. Its MTU is larger than the underlay's.
const between = `
[ "$CNI_COMMAND" = ADD ] || exit 0
set -e
host=$(ip -4 -o addr show dev eth0 | sed 's,.*198\.18\.0\.\([0-9]*\)/.*,\1,')
at=$((${CNI_CONTAINERID##*c} + 1))
if ! ip link show br-t >/dev/null 2>&1; then
	ip link add br-t type bridge
	ip addr add 10.$host.0.1/16 dev br-t
	ip link set br-t up
	echo 1 >/proc/sys/net/ipv4/ip_forward
	for other in 1 2; do [ $other = $host ] || ip route add 10.$other.0.0/16 via 198.18.0.$other; done
fi
ip link add t$at type veth peer name p$at
ip link set t$at mtu 9000 master br-t up
nsenter --net="$CNI_NETNS" sleep 60 >/dev/null & inside=$!
until [ "$(readlink /proc/$inside/ns/net)" = "$(readlink $CNI_NETNS)" ]; do :; done
ip link set p$at mtu 9000 netns $inside
kill $inside
nsenter --net="$CNI_NETNS" sh -ec "ip link set p$at name eth0 up; ip addr add 10.$host.0.$at/16 dev eth0; ip route add default via 10.$host.0.1"
echo '{"cniVersion": "1.0.0"}'
`

func TestUsersPluginThatRoutesBetweenHosts(t *testing.T) {
	tech := cni.New(conflist(t, "1.0.0", "between"), cni.Folders{script(t, "between", between)})
	n, err := tech.Connect(t.Context(), networktest.Pair, lab.New())
	iferr.Fatal(t, err)
	if got := path(n, network.IPv4); got != "h2c1/eth0 h2/veth-h2c1 h2/br-t h2/eth0 h1/eth0 h1/br-t h1/veth-h1c1 h1c1/eth0" {
		t.Error(got)
	}
	remarks := n.Remarks(network.IPv4)
	if len(n.Unproved) > 0 || len(remarks) != 1 || remarks[0] != "the MTU of h1c1 is 9000, and that of the underlay 1500: large packets do not cross in one piece" {
		t.Errorf("remarks %q, not proved: %q", remarks, n.Unproved)
	}
	iferr.Error(t, n.Close(context.Background()))
	measured(t, tech, 4)
}
