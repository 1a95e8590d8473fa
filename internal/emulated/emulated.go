// Package emulated detects whether the CPUs of this machine are emulated by software. Everything takes several times as
// long there, so time limits have to be longer.
package emulated

import (
	"os"
	"strings"
	"sync"
	"time"
)

// CPU reports whether CPUs are emulated, by the text of /proc/cpuinfo. QEMU uses this name for x86 CPUs that it emulates
// itself, whatever model they imitate. Its own model for Arm has a number that no real one has, part 'Q' of the implementer
// 0 (QEMU's target/arm/cpu64.c); where it imitates another model, it cannot be told.
func CPU(info string) bool {
	return strings.Contains(info, "QEMU TCG") ||
		strings.Contains(info, "CPU implementer\t: 0x00\n") && strings.Contains(info, "CPU part\t: 0x051\n")
}

// machine reports whether this machine is emulated, by /proc/cpuinfo.
var machine = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && CPU(string(b))
})

// Slowness is how many times as long an emulated machine gets for anything.
const Slowness = 8

// Patience returns the time limit to use on this machine for what takes at most long elsewhere.
func Patience(long time.Duration) time.Duration {
	if machine() {
		return Slowness * long
	}
	return long
}
