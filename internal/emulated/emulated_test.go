package emulated

import "testing"

func TestCPU(t *testing.T) {
	for info, want := range map[string]bool{
		"model name\t: QEMU TCG CPU version 2.5+\nstepping\t: 3\n":                 true,
		"model name\t: QEMU Virtual CPU version 2.5+\nflags\t\t: fpu hypervisor\n": false, // under KVM
		"model name\t: AMD EPYC\n": false,
		"CPU implementer\t: 0x00\nCPU variant\t: 0x0\nCPU part\t: 0x051\nCPU revision\t: 0\n": true,
		"CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n": false, // Neoverse N1
		"": false,
	} {
		if got := CPU(info); got != want {
			t.Errorf("%q: %v, want %v", info, got, want)
		}
	}
}
