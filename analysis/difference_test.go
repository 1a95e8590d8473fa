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
