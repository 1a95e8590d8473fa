// Package emulated knows whether the CPUs of this machine are a program, which take a
// minute for what others do in seconds.
package emulated

import (
	"os"
	"strings"
	"sync"
	"time"
)

// CPU reports whether a model of CPU is a program: what QEMU calls CPUs that it emulates
// itself, whatever they pretend to be.
func CPU(model string) bool { return strings.Contains(model, "QEMU TCG") }

// machine is of this machine, by /proc/cpuinfo.
var machine = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && CPU(string(b))
})

// Slowness is how many times as long an emulated machine gets for anything.
const Slowness = 4

// Patience is how long may be waited here for what takes others no longer than that.
func Patience(long time.Duration) time.Duration {
	if machine() {
		return Slowness * long
	}
	return long
}
