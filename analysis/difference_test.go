package analysis

import (
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

func TestUnlikeMachines(t *testing.T) {
	on := func(arch, cpu string, card *record.NIC) record.Endpoint {
		return record.Endpoint{Machine: &record.Machine{Arch: arch, CPUModel: cpu}, NIC: card}
	}
	at := func(role, host string, card record.NIC) record.Endpoint {
		return record.Endpoint{Role: role, Host: host, Machine: &record.Machine{CPUModel: "Xeon"}, NIC: &card}
	}
	gigabit, ten := &record.NIC{Device: "eth0", Driver: "e1000e", Speed: 1000}, &record.NIC{Device: "eth0", Driver: "e1000e", Speed: 10000}
	tuned := record.NIC{Device: "ens3", Driver: "ena", MTU: 9001, Receive: 8, Transmit: 4, Interrupts: []string{"0", "1", "2"}, RPS: []string{"00000000,0000000c"},
		Offloads: map[string]bool{"gro": true, "lro": true, "tso": false}}
	plain := record.NIC{Device: "eth0", Driver: "ena", MTU: 1500, Receive: 4, Transmit: 4, Interrupts: []string{"0-3"}, RPS: []string{"0", "c"},
		Offloads: map[string]bool{"gro": true, "lro": false, "tso": true}}
	wide := plain
	wide.RPS = []string{"00000000,00000000", "00000000,0000000c"} // of a kernel that has room for more CPUs
	calm, eager := plain, plain
	calm.ReceiveRing, calm.TransmitRing, calm.Coalesce = 4096, 512, &record.Coalesce{AdaptiveRx: true, TxUsecs: 64, TxFrames: 32}
	eager.ReceiveRing, eager.TransmitRing, eager.Coalesce = 1024, 256, &record.Coalesce{RxFrames: 1, TxUsecs: 8}
	lab := record.NIC{Device: "eth0", Driver: "veth", Speed: 10000, MTU: 1500, Receive: 1, Transmit: 1, Offloads: map[string]bool{"gro": false, "tso": true}}
	bare := record.NIC{Device: "eth0", Driver: "ena", MTU: 1500}
	for _, c := range []struct {
		name string
		ends []record.Endpoint
		want []string
	}{
		{"one machine", []record.Endpoint{{}, {}}, nil},
		{"alike", []record.Endpoint{on("amd64", "Xeon", gigabit), on("amd64", "Xeon", gigabit)}, nil},
		{"another CPU", []record.Endpoint{on("amd64", "Xeon", nil), on("arm64", "Neoverse", nil)}, []string{"CPU amd64 Xeon and arm64 Neoverse"}},
		{"another kernel", []record.Endpoint{{Machine: &record.Machine{Kernel: "6.18.1"}}, {Machine: &record.Machine{Kernel: "6.1.0"}}}, []string{"kernel 6.18.1 and 6.1.0"}},
		{"another card", []record.Endpoint{on("amd64", "Xeon", gigabit), on("amd64", "Xeon", ten)}, []string{"network cards eth0: rate 1 Gbit/s and 10 Gbit/s"}},
		{"cards that do not say", []record.Endpoint{on("amd64", "Xeon", &record.NIC{Device: "eth0", Driver: "virtio_net"}), on("amd64", "Xeon", gigabit)},
			[]string{"network cards eth0: driver virtio_net and e1000e, rate unknown and 1 Gbit/s"}},
		{"other settings of a card", []record.Endpoint{at("client", "h2", plain), at("server", "h1", tuned), at("server", "h1", tuned)},
			[]string{"network cards h2/eth0 and h1/ens3: MTU 1500 and 9001, receive queues 4 and 8, CPUs for interrupts 0-3 and 0/1/2, RPS mask 0/c and c, lro off and on, tso on and off"}},
		{"interrupts that wait", []record.Endpoint{at("client", "h2", calm), at("server", "h1", eager)},
			[]string{"network cards h2/eth0 and h1/eth0: receive ring 4096 and 1024, transmit ring 512 and 256, receive coalescing adaptive and none, transmit coalescing 64 µs or 32 packets and 8 µs"}},
		{"room for more CPUs", []record.Endpoint{at("client", "h2", plain), at("server", "h1", wide)}, nil},
		{"hosts of the lab", []record.Endpoint{at("client", "h2", lab), at("server", "h1", lab)}, nil},
		{"not known of one", []record.Endpoint{at("client", "h2", plain), at("server", "h1", bare)}, nil},
	} {
		if got := unlikeMachines(c.ends, nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMovedMachines checks what is said about trials that a resumed run took elsewhere.
func TestMovedMachines(t *testing.T) {
	at := func(client, kernel string, card *record.NIC, cpus int) *record.Trial {
		on := &record.Machine{Arch: "amd64", CPUModel: "Xeon", Kernel: kernel}
		trial := &record.Trial{Endpoints: []record.Endpoint{
			{Role: "client", Platform: client, Machine: on, NIC: card}, {Role: "client", Platform: client, Machine: on, NIC: card},
			{Role: "server", Platform: "ssh b", Machine: on},
		}}
		if cpus > 0 {
			trial.CPU = &record.CPUUse{Machine: record.MachineCPU{PerCPU: make([]record.CPUSample, cpus)}}
		}
		return trial
	}
	here := &record.Trial{Endpoints: []record.Endpoint{{Role: "client"}, {Role: "server"}}}
	eth0 := &record.NIC{Device: "eth0", Driver: "e1000e", Speed: 1000, Receive: 4, Offloads: map[string]bool{"gro": true}}
	eth1 := &record.NIC{Device: "eth1", Driver: "e1000e", Speed: 10000}
	first := at("ssh a", "6.1.0", eth0, 4)
	for _, c := range []struct {
		name   string
		trials []*record.Trial
		want   []string
	}{
		{"none", nil, nil},
		{"this machine", []*record.Trial{here, here}, nil},
		{"the same", []*record.Trial{first, at("ssh a", "6.1.0", eth0, 4)}, nil},
		{"without some facts", []*record.Trial{first, at("", "", nil, 0), here}, nil},
		{"another client", []*record.Trial{first, at("ssh c", "6.1.0", eth0, 4), first}, []string{"client from ssh a to ssh c"}},
		{"other kernels", []*record.Trial{first, at("ssh a", "6.1.1", eth0, 4), at("ssh a", "6.12", eth0, 4)},
			[]string{"kernel of the client from 6.1.0 to 6.1.1 to 6.12", "kernel of the server from 6.1.0 to 6.1.1 to 6.12"}},
		{"another card", []*record.Trial{first, at("ssh a", "6.1.0", eth1, 4)},
			[]string{"network card of the client from eth0 to eth1", "rate of the network card of the client from 1 Gbit/s to 10 Gbit/s"}},
		{"other settings of a card", []*record.Trial{first, at("ssh a", "6.1.0", &record.NIC{Device: "eth0", Driver: "e1000e", Speed: 1000, Receive: 2, Offloads: map[string]bool{"gro": false}}, 4)},
			[]string{"gro of the network card of the client from on to off", "receive queues of the network card of the client from 4 to 2"}},
		{"more CPUs", []*record.Trial{first, at("ssh a", "6.1.0", eth0, 12)}, []string{"number of CPUs from 4 to 12"}},
	} {
		if got := movedMachines(changes(c.trials)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestInterruptsThatMove has interrupts that somebody moved once, and others that irqbalance keeps moving.
func TestInterruptsThatMove(t *testing.T) {
	on := func(cpus ...string) (trials []*record.Trial) {
		for _, list := range cpus {
			trials = append(trials, &record.Trial{Endpoints: []record.Endpoint{
				{Role: "client", Host: "h2", NIC: &record.NIC{Device: "eth0", Interrupts: []string{list}}},
				{Role: "server", Host: "h1", NIC: &record.NIC{Device: "eth0", Interrupts: []string{"0"}}},
			}})
		}
		return trials
	}
	for _, c := range []struct {
		trials        []*record.Trial
		moved, unlike []string
	}{
		{on("0", "0"), nil, nil},
		{on("1", "1"), nil, []string{"network cards h2/eth0 and h1/eth0: CPUs for interrupts 1 and 0"}},
		{on("0", "1", "1"), []string{"CPUs for interrupts of the network card of the client from 0 to 1"}, nil},
		{on("0", "1", "2", "1"), nil, nil},
		{on("0", "1", "0"), nil, nil},
	} {
		changed := changes(c.trials)
		moved, unlike := movedMachines(changed), unlikeMachines(c.trials[len(c.trials)-1].Endpoints, changed)
		if !slices.Equal(moved, c.moved) || !slices.Equal(unlike, c.unlike) {
			t.Errorf("moved %q, want %q; unlike %q, want %q", moved, c.moved, unlike, c.unlike)
		}
	}
}

// TestPackagesOfOwnCPUs checks that ends whose clusters have given them CPUs elsewhere are said to differ.
func TestPackagesOfOwnCPUs(t *testing.T) {
	pod := func(limit string, cpus ...record.CPU) []record.Endpoint {
		of := map[string]string{"cpu": limit}
		return []record.Endpoint{{Role: "server", Machine: &record.Machine{CPUs: cpus}, Resources: &record.Resources{Requests: of, Limits: of}}}
	}
	on := func(of int, ids ...int) (cpus []record.CPU) {
		for _, id := range ids {
			cpus = append(cpus, record.CPU{ID: id, Core: id, Package: of})
		}
		return cpus
	}
	base := pod("2", on(0, 2, 3)...)
	for name, c := range map[string]struct {
		ends []record.Endpoint
		want string
	}{
		"other CPUs":      {pod("2", on(0, 4, 5)...), ""},
		"another package": {pod("2", on(1, 8, 9)...), "server package of its own CPUs 1 against 0"},
		"two packages":    {pod("2", append(on(0, 7), on(1, 8)...)...), "server package of its own CPUs 0/1 against 0"},
		"slow ones":       {pod("2", record.CPU{ID: 8, Slow: true}, record.CPU{ID: 9, Slow: true}), "server package of its own CPUs 0 (slow) against 0"},
		"none of its own": {pod("4", on(1, 8, 9)...), ""},
	} {
		got := ""
		all := differences(c.ends, nil, base, nil)
		for _, d := range all {
			got += d.text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if remedy := levelling(record.Cell{Network: "kubernetes:pod", Hosts: 1}, nil, nil, all, record.Settings{Turns: true}); strings.HasPrefix(remedy, "measure with --turns=false to rule ") != (c.want != "") {
			t.Errorf("%s: %q", name, remedy)
		}
	}
}

// TestCongestionIsRuledOut checks that congestion controls that differ, as do the defaults that they follow from, are named as one.
func TestCongestionIsRuledOut(t *testing.T) {
	with := func(control string) ([]record.Endpoint, []record.Flow) {
		return []record.Endpoint{{Role: "client", Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": control}}},
			[]record.Flow{{Bytes: 1, TCP: &record.TCPInfo{Congestion: control}}}
	}
	ends, flows := with("bbr")
	baseEnds, baseFlows := with("cubic")
	all := differences(ends, flows, baseEnds, baseFlows)
	if got := levelling(streamCell("bridge"), ends, baseEnds, all, record.Settings{}); len(all) != 2 || got != "measure with --congestion NAME to rule that out" {
		t.Errorf("%+v: %q", all, got)
	}
}
