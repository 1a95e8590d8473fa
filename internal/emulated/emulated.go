// Package emulated detects whether the CPUs of this machine are emulated by software. Everything takes several times as
// long there, so time limits have to be longer.
package emulated

import (
	"os"
	"strings"
	"sync"
	"time"
)

// CPU reports whether a CPU model is emulated: QEMU uses this name for CPUs that it emulates itself, whatever model
// they imitate.
func CPU(model string) bool { return strings.Contains(model, "QEMU TCG") }

// machine reports whether this machine is emulated, by /proc/cpuinfo.
var machine = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && CPU(string(b))
})

// Slowness is how many times as long an emulated machine gets for anything.
const Slowness = 4

// Patience returns the time limit to use on this machine for what takes at most long elsewhere.
func Patience(long time.Duration) time.Duration {
	if machine() {
		return Slowness * long
	}
	return long
}
