package engine

import (
	"fmt"

	"nettoll/record"
)

// Codes of warnings.
const (
	WarnGenerator = "generator-limited"
	WarnStrangers = "strangers"
	WarnWindow    = "window-limited"
)

// A generator that spends more than generatorShare of its CPU time in user space
// is measured at least as much as the network, all of whose work is the kernel's.
// Below generatorLeast seconds of CPU time the split, which the kernel samples at
// ticks of 1 to 10 ms, says too little.
const (
	generatorShare = 0.25
	generatorLeast = 0.1
)

func generatorLimited(process string, use cpuTime) *record.Warning {
	total := use.User + use.System
	if total < generatorLeast || use.User <= generatorShare*total {
		return nil
	}
	return &record.Warning{
		Code: WarnGenerator,
		Text: fmt.Sprintf("%s spent %.0f %% of its CPU time in user space: the generator is measured more than the network (larger messages cost it less)", process, 100*use.User/total),
	}
}

func strangersCame(server string, n int64) *record.Warning {
	if n == 0 {
		return nil
	}
	return &record.Warning{
		Code: WarnStrangers,
		Text: fmt.Sprintf("%s closed %d connections that did not belong to the trial", server, n),
	}
}

// windowLimited compares the socket buffer with what was asked for. The kernel
// doubles what it grants, for its own overhead (socket(7)).
func windowLimited(name, limit string, asked, got int) *record.Warning {
	if got >= 2*asked {
		return nil
	}
	return &record.Warning{
		Code: WarnWindow,
		Text: fmt.Sprintf("%s buffer of %d bytes asked for, %d granted: limited by %s", name, asked, got/2, limit),
	}
}
