package analysis

import (
	"slices"
	"testing"

	"nettoll/record"
)

func TestUnlikeMachines(t *testing.T) {
	on := func(arch, cpu string, card *record.NIC) record.Endpoint {
		return record.Endpoint{Machine: &record.Machine{Arch: arch, CPUModel: cpu}, NIC: card}
	}
	gigabit, ten := &record.NIC{Driver: "e1000e", Speed: 1000}, &record.NIC{Driver: "e1000e", Speed: 10000}
	for _, c := range []struct {
		name string
		ends []record.Endpoint
		want []string
	}{
		{"one machine", []record.Endpoint{{}, {}}, nil},
		{"alike", []record.Endpoint{on("amd64", "Xeon", gigabit), on("amd64", "Xeon", gigabit)}, nil},
		{"another CPU", []record.Endpoint{on("amd64", "Xeon", nil), on("arm64", "Neoverse", nil)}, []string{"CPU amd64 Xeon and arm64 Neoverse"}},
		{"another kernel", []record.Endpoint{{Machine: &record.Machine{Kernel: "6.18.1"}}, {Machine: &record.Machine{Kernel: "6.1.0"}}}, []string{"kernel 6.18.1 and 6.1.0"}},
		{"another card", []record.Endpoint{on("amd64", "Xeon", gigabit), on("amd64", "Xeon", ten)}, []string{"rate of the link 1 Gbit/s and 10 Gbit/s"}},
		{"cards that do not say", []record.Endpoint{on("amd64", "Xeon", &record.NIC{Driver: "virtio_net"}), on("amd64", "Xeon", gigabit)},
			[]string{"driver of the network card virtio_net and e1000e", "rate of the link unknown and 1 Gbit/s"}},
	} {
		if got := unlikeMachines(c.ends); !slices.Equal(got, c.want) {
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
	eth0, eth1 := &record.NIC{Device: "eth0", Driver: "e1000e", Speed: 1000}, &record.NIC{Device: "eth1", Driver: "e1000e", Speed: 10000}
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
			[]string{"network card of the client from eth0 to eth1", "rate of the link of the client from 1 Gbit/s to 10 Gbit/s"}},
		{"more CPUs", []*record.Trial{first, at("ssh a", "6.1.0", eth0, 12)}, []string{"number of CPUs from 4 to 12"}},
	} {
		if got := movedMachines(c.trials); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
