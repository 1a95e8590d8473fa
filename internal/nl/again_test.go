package nl

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vishvananda/netlink"
)

// TestAgainEnds has a table that others change whenever it is read.
func TestAgainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		err := again(func() error {
			times++
			time.Sleep(time.Second)
			return netlink.ErrDumpInterrupted
		})
		if !errors.Is(err, netlink.ErrDumpInterrupted) || times < 2 {
			t.Errorf("%v, after %d times", err, times)
		}
	})
}
