package ssh_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/nl"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/network/ssh"
	"nettoll/platform"
	"nettoll/platform/platformtest"
	platforms "nettoll/platform/ssh"
	"nettoll/platform/ssh/sshtest"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload/engine"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestBetweenMachines measures over every network between two machines, with one pair of endpoints and with several, over
// both IP versions. Their paths must be proved, and the machines must have the same devices, addresses and routes before,
// meanwhile and afterwards.
func TestBetweenMachines(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	p := &counting{SSH: onMachines(t)}
	for _, d := range ssh.All() {
		t.Run(d.Name, func(t *testing.T) {
			for _, hosts := range d.Hosts {
				conform(t, lan, p, d, hosts)
			}
		})
	}
	t.Run("in turns", func(t *testing.T) { inTurns(t, lan, p) })
}

// inTurns measures all networks at once, and then those that can stand more than once, with twins: servers on the machines
// themselves then have other ports, and tunnels other numbers.
func inTurns(t *testing.T, lan *sshtest.LAN, p *counting) {
	before := state(t, lan)
	var cells, twins []record.Cell
	for _, d := range ssh.All() {
		for _, hosts := range d.Hosts {
			c := record.Cell{
				Network: "ssh:" + d.Name, Baseline: "ssh:native", Hosts: hosts, Family: 4, Servers: 1, Clients: 2,
				Tool: engine.Name, Workload: record.TCPRR, Placement: record.PlacementFree,
			}
			cells = append(cells, c)
			for c.Twin = 1; c.Twin <= 2 && hosts == 2 && !d.Single; c.Twin++ {
				twins = append(twins, c)
			}
		}
	}
	stream := cells[1]
	stream.Workload = record.TCPStream
	for _, c := range cells {
		if c.Hosts == 2 {
			stream.Network = c.Network
			cells = append(cells, stream)
		}
	}
	for _, all := range [][]record.Cell{cells, twins} {
		quiet := p.quiet
		trials := networktest.InTurns(t, p, "ssh:", ssh.All(), all)
		busy := 0.0 // CPU seconds of all trials: in one it can be 0, since what the idle machine used is taken off
		for _, trial := range trials {
			if trial.Status == record.Skipped && missing(trial) {
				continue
			}
			slow := trial.Cell.Workload == record.TCPStream && slices.ContainsFunc(trial.Warnings, func(w record.Warning) bool { // as emulated ones are
				return strings.Contains(w.Text, "payload was still on its way when most turns had ended")
			})
			if trial.Status != record.OK || trial.Cell.Hosts == 2 && len(trial.Slices) == 0 && !slow { // on one machine there is only native
				t.Errorf("%s is %s with %d slices: %s; %v", trial.Cell.Key(), trial.Status, len(trial.Slices), trial.Reason, trial.Warnings)
			}
			if trial.Cell.Hosts == 2 && (trial.Clocks == nil || trial.Clocks.Over != record.OverNetwork || trial.CPU == nil) {
				t.Errorf("%s: clocks %+v, CPU %+v", trial.Cell.Key(), trial.Clocks, trial.CPU)
			} else if trial.CPU != nil {
				busy += trial.CPU.Machine.Busy
			}
		}
		if busy <= 0 {
			t.Error("the machines used no CPU time")
		}
		for _, c := range all {
			if !slices.ContainsFunc(trials, func(t record.Trial) bool { return t.Cell == c }) {
				t.Errorf("%s was not measured", c.Key())
			}
		}
		if p.quiet == quiet || p.over != p.quiet {
			t.Errorf("the platform was quiet %d times, of which %d have ended", p.quiet-quiet, p.over)
		}
	}
	if now := state(t, lan); !reflect.DeepEqual(before, now) {
		t.Errorf("the machines were %v, and are %v", before, now)
	}
	if stood := strings.Join(p.Stood(), "; "); !strings.Contains(stood, "networks at once") {
		t.Errorf("stood: %s", stood)
	}
}

// counting counts the times in which its platform was asked to be quiet.
type counting struct {
	*platforms.SSH
	quiet, over int
}

func (c *counting) Info() platform.Info {
	info := c.SSH.Info()
	hold := info.Quiet
	info.Quiet = func() (end func()) {
		c.quiet++
		release := hold()
		return func() { c.over++; release() }
	}
	return info
}

func conform(t *testing.T, lan *sshtest.LAN, p *counting, d network.Driver, hosts int) {
	t.Helper()
	machine, err := sampler.Machine("/proc", "/sys")
	iferr.Fatal(t, err)
	before, quiet := state(t, lan), p.quiet
	families := d.Families
	if families == nil {
		families = []int{4, 6}
	}
	var cells []record.Cell
	for _, f := range families {
		pair := record.Cell{
			Network: "ssh:" + d.Name, Hosts: hosts, Family: f, Servers: 1, Clients: 1, Tool: engine.Name, Workload: record.TCPStream, Placement: record.PlacementFree,
		}
		cells = append(cells, pair)
		if f == 4 && hosts == 2 {
			pair.Servers, pair.Clients, pair.Neighbours, pair.Workload = 2, 3, 2, record.UDPRR
			cells = append(cells, pair)
		}
	}
	looked := d.Then(func(_ context.Context, topo network.Topology, n *network.Network) error {
		for _, f := range families {
			asked := map[string]any{}
			for i, client := range n.Clients {
				for _, h := range n.Path(client, n.Servers[topo.Pair(i)], network.Family(f)) {
					if h.Asked == nil {
						t.Errorf("no agent reads %s by itself: turns would be judged without it", h.Name)
						continue
					}
					if was, ok := asked[h.Name]; ok && !reflect.DeepEqual(was, h.Asked.Params) { // hops of one name are read once
						t.Errorf("%s is %v for one pair, and %v for another", h.Name, was, h.Asked.Params)
					}
					asked[h.Name] = h.Asked.Params
				}
			}
		}
		if now := state(t, lan); !reflect.DeepEqual(before, now) {
			t.Errorf("the machines were %v, and have become %v", before, now)
		}
		return nil
	})
	trials := networktest.Measure(t, p, looked, cells)
	for _, trial := range trials {
		switch {
		case trial.Status == record.Skipped && missing(trial):
			t.Skip(trial.Reason)
		case trial.Status != record.OK:
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
		}
		for _, e := range trial.Endpoints {
			if e.Machine == nil || e.Machine.Kernel != machine.Kernel {
				t.Errorf("%s: %s is on the machine %+v", trial.Cell.Key(), e.Name, e.Machine)
			}
			if card := e.NIC; hosts == 1 && card != nil && lan.Hosts[0].Uplink().Device != card.Device ||
				hosts == 2 && (card == nil || card.Device != lan.Hosts[0].Uplink().Device || card.Driver != "veth" || card.Speed == 0 || card.MTU != 1500 || len(card.Offloads) == 0) {
				t.Errorf("%s: %s has the network card %+v", trial.Cell.Key(), e.Name, card)
			}
		}
		for _, h := range trial.Path {
			if !h.OK || h.Absent {
				t.Errorf("%s: hop %+v", trial.Cell.Key(), h)
			}
		}
	}
	if len(trials) != len(cells) {
		t.Errorf("%d trials of %d cells", len(trials), len(cells))
	}
	if n := p.quiet - quiet; n < len(cells) || p.over != p.quiet { // more where the trial began again
		t.Errorf("the platform was quiet in %d of %d trials, and %d of %d times have ended", n, len(cells), p.over, p.quiet)
	}
	if now := state(t, lan); !reflect.DeepEqual(before, now) {
		t.Errorf("the machines were %v, and are %v", before, now)
	}
}

// missing reports whether a trial was skipped for an option of the kernel, or for Open vSwitch, which TestDaemonsEnd
// requires.
func missing(t record.Trial) bool {
	return strings.Contains(t.Reason, "needs CONFIG_") || strings.Contains(t.Reason, "needs the program ovs")
}

// state returns the devices, addresses and routes of the machines.
func state(t *testing.T, lan *sshtest.LAN) (all []any) {
	t.Helper()
	for _, h := range lan.Hosts {
		err := nl.With(h.Facts().NetNS, func(n *nl.NS) error {
			devices, err := n.Devices()
			routes, routesErr := n.RouteTable()
			all = append(all, devices, routes)
			return errors.Join(err, routesErr)
		})
		iferr.Fatal(t, err)
	}
	return all
}

// TestFirewall has a machine that drops what comes to the port of the tunnel. The network's fault says what must be let
// through.
func TestFirewall(t *testing.T) {
	_, err := exec.LookPath("nft")
	platformtest.Require(t, "nft", err)
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{
		Setup: "nft add table ip t; nft 'add chain ip t in { type filter hook input priority 0; }'; nft add rule ip t in udp dport 4789 drop",
	}, sshtest.Machine{})
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1}
	n, err := driver(t, "vxlan").Connect(t.Context(), topo, onMachines(t))
	iferr.Fatal(t, err)
	greet(t, n, topo)
	if err := n.Broken(t.Context()); err == nil || err.Error() != "nothing arrives on h1 by vxlan0: let UDP port 4789 through between the machines, as by their firewalls" {
		t.Errorf("error %v", err)
	}
	iferr.Error(t, n.Close(t.Context()))
}

// greet sends a datagram from the client to the first port of the server. Nobody answers.
func greet(t *testing.T, n *network.Network, topo network.Topology) {
	t.Helper()
	at, err := n.Addr(n.Clients[0], n.Servers[0], network.IPv4)
	iferr.Fatal(t, err)
	c, err := agent.Start(t.Context(), n.Clients[0])
	iferr.Fatal(t, err)
	first, _ := topo.Ports(0)
	_ = c.Call(t.Context(), sampler.MethodGreet, sampler.Greet{To: netip.AddrPortFrom(at, uint16(first)), Cookie: make([]byte, 16), Within: time.Second}, nil)
	iferr.Error(t, c.Close())
}

// TestCountersAtAGivenTime has the machines' agents read what counts the payload to published ports at times that they
// are told beforehand, over connections that delay everything, before and after a datagram is sent to such a port.
func TestCountersAtAGivenTime(t *testing.T) {
	slow := sshtest.Machine{Delay: 25 * time.Millisecond}
	sshtest.Start(t, platform.Underlay{}, slow, slow)
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1}
	n, err := driver(t, "published").Connect(t.Context(), topo, onMachines(t))
	iferr.Fatal(t, err)
	hops := n.Path(n.Clients[0], n.Servers[0], network.IPv4)
	read := func() (all []network.Count) {
		t.Helper()
		for _, h := range hops {
			params, err := json.Marshal(h.Asked.Params)
			iferr.Fatal(t, err)
			at := sampler.Monotonic() + int64(time.Millisecond) // the machines have the clock of this one
			took, err := sampler.Series{
				Calls: []sampler.Asked{{Method: h.Asked.Method, Params: params}}, Moments: []sampler.Moment{{At: at, Calls: []int{0}}},
			}.Take(t.Context(), h.Asked.Agent)
			if err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
			c, err := h.Asked.Count(took[0][0].Decode)
			if err != nil || took[0][0].Over < at {
				t.Errorf("%s was read %v after its time: %v", h.Name, time.Duration(took[0][0].Over-at), err)
			}
			all = append(all, c)
		}
		return all
	}
	before := read()
	after := before
	all := func() bool { // have counted something
		for i := range hops {
			if after[i].Packets <= before[i].Packets {
				return false
			}
		}
		return true
	}
	for began := time.Now(); !all() && time.Since(began) < time.Minute; after = read() {
		greet(t, n, topo)
	}
	rules := 0
	for i, h := range hops {
		if after[i].Packets <= before[i].Packets {
			t.Errorf("%s counted %d packets before a datagram was sent, and %d after it", h.Name, before[i].Packets, after[i].Packets)
		}
		if h.Kind != network.Device {
			rules++
		}
		if now, err := h.Read(t.Context()); err != nil || now.Packets < after[i].Packets || now.At != after[i].At {
			t.Errorf("%s: its agent read %+v at the given time; afterwards it is %+v, %v", h.Name, after[i], now, err)
		}
	}
	if rules != 2 {
		t.Errorf("%d of the hops are rules, want that which translates and that which forwards", rules)
	}
	iferr.Error(t, n.Close(t.Context()))
}

// TestAfterKill kills the agents of a network with SIGKILL. The machines are as before, and the same network can be built
// again.
func TestAfterKill(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	p := onMachines(t)
	before := state(t, lan)
	d := driver(t, "vxlan")
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1}
	n, err := d.Connect(t.Context(), topo, p)
	iferr.Fatal(t, err)
	for i := range lan.Hosts {
		for _, pid := range lan.Busy(t, i, "agent injected") {
			iferr.Fatal(t, unix.Kill(pid, unix.SIGKILL))
		}
		lan.Empty(t, i)
	}
	if err := n.Broken(t.Context()); err == nil || !strings.Contains(err.Error(), "agent has ended") {
		t.Errorf("error %v", err)
	}
	iferr.Error(t, n.Close(t.Context()))
	if n, err = d.Connect(t.Context(), topo, p); err != nil {
		t.Fatal(err)
	}
	iferr.Error(t, n.Close(t.Context()))
	if now := state(t, lan); !reflect.DeepEqual(before, now) {
		t.Errorf("the machines were %v, and are %v", before, now)
	}
}

// TestDaemonsEnd has Open vSwitch on two machines. If one of its daemons ends, the network's fault says so. All daemons end
// with the network, and with the agents when these are killed with SIGKILL, and the machines are as before.
func TestDaemonsEnd(t *testing.T) {
	_, err := exec.LookPath("ovs-vswitchd")
	platformtest.Require(t, "ovs-vswitchd", err)
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	p := onMachines(t)
	before := state(t, lan)
	var n *network.Network
	var agents []int // PIDs
	build := func() {
		t.Helper()
		if n, err = driver(t, "ovs-userspace-vxlan").Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p); err != nil {
			t.Fatal(err)
		}
		agents = nil
		for i := range lan.Hosts {
			agents = append(agents, lan.Busy(t, i, "agent injected")...)
		}
		for i, agent := range agents {
			if all := daemons(t, agent); len(all) != 2 {
				t.Fatalf("%s runs %v, want ovsdb-server and ovs-vswitchd", sshtest.Name(i), all)
			}
		}
	}
	gone := func() {
		t.Helper()
		for i, agent := range agents {
			for began := time.Now(); len(daemons(t, agent)) > 0; time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("%s still runs %v", sshtest.Name(i), daemons(t, agent))
				}
			}
		}
	}
	build()
	iferr.Error(t, n.Broken(t.Context()))
	for pid, line := range daemons(t, agents[0]) {
		if strings.Contains(line, "ovs-vswitchd unix:") {
			iferr.Fatal(t, unix.Kill(pid, unix.SIGKILL))
		}
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := n.Broken(t.Context())
		if err != nil && strings.Contains(err.Error(), "ovs-vswitchd on h1") {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("ovs-vswitchd was killed, and the network says: %v", err)
		}
	}
	iferr.Error(t, n.Close(t.Context()))
	gone()
	build()
	for _, agent := range agents {
		iferr.Fatal(t, unix.Kill(agent, unix.SIGKILL))
	}
	gone()
	iferr.Error(t, n.Close(t.Context()))
	if now := state(t, lan); !reflect.DeepEqual(before, now) {
		t.Errorf("the machines were %v, and are %v", before, now)
	}
}

// daemons returns the command lines of the daemons that an agent has started, by PID: they have files that only its
// descriptors lead to.
func daemons(t *testing.T, agent int) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	iferr.Fatal(t, err)
	all := map[int]string{}
	for _, f := range files {
		b, _ := os.ReadFile(f) // it may have ended
		line := strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && strings.Contains(line, fmt.Sprintf("/proc/%d/fd/", agent)) {
			all[pid] = line
		}
	}
	return all
}

// TestWithoutPrograms has a machine without Open vSwitch. The error says what to install where.
func TestWithoutPrograms(t *testing.T) {
	sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{
		Shell: "PATH=/usr/bin:/bin; export PATH; exec sh -c \"$SSH_ORIGINAL_COMMAND\"", // where there is only ovs-vsctl
	})
	_, err := driver(t, "ovs-userspace-vxlan").Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, onMachines(t))
	var missing *platform.Unsupported
	if !errors.As(err, &missing) || missing.Feature != "Open vSwitch on h2 (ssh b)" || missing.Option != "the program ovs-vswitchd" || missing.Remedy != "on that machine: apt install openvswitch-switch" {
		t.Errorf("error %v (%+v)", err, missing)
	}
}

// onMachines returns the platform of the machines a and b, with this program as their agent.
func onMachines(t *testing.T) *platforms.SSH {
	t.Helper()
	p := platforms.New(platforms.Options{
		Targets: []string{"a", "b"},
		Agents:  &bootstrap.Agents{File: func(string) (string, error) { return "/proc/self/exe", nil }},
	})
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	return p
}

func driver(t *testing.T, name string) network.Driver {
	t.Helper()
	for _, d := range ssh.All() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("no network %s", name)
	return network.Driver{}
}
