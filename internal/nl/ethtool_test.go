package nl_test

import (
	"fmt"
	"testing"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

// TestEthtoolAnswersAtAnyDepth asks for a device's driver with the stack filled to all degrees: it must not move while the kernel
// answers.
func TestEthtoolAnswersAtAnyDepth(t *testing.T) {
	inPair(t, func() error {
		here := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
		for levels := range 400 {
			asked := make(chan error)
			go func() {
				asked <- nl.Ethtool(here, func(tool *ethtool.Ethtool) error {
					deeper(levels, func() {
						if name, err := tool.DriverName("a"); name != "veth" || err != nil {
							t.Errorf("%d levels down the driver is %q, %v", levels, name, err)
						}
					})
					return nil
				})
			}()
			iferr.Error(t, <-asked)
		}
		return nil
	})
}

// deeper runs fn so many levels of the stack further down.
//
//go:noinline
func deeper(levels int, fn func()) {
	var room [16]byte
	room[levels%len(room)]++
	if levels > 0 {
		deeper(levels-1, fn)
	} else {
		fn()
	}
	room[levels%len(room)]++
}
