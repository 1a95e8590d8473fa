package nft_test

import (
	"os"
	"sync"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl/nft"
	"nettoll/internal/testutil/iferr"
)

// TestProcessStaysInItsNamespace reads a counter in another namespace again and again. The process's own stays what /proc/self says:
// others find it by that.
func TestProcessStaysInItsNamespace(t *testing.T) {
	const own = "/proc/self/ns/net"
	was, err := os.Readlink(own)
	iferr.Fatal(t, err)
	spaces, err := netns.New(t.Context(), 1, func() error { return nil })
	if err != nil {
		t.Skip(err)
	}
	defer spaces[0].Close()
	var counting sync.WaitGroup
	for range 4 { // so that one of them is on the first thread now and then
		counting.Go(func() {
			for range 1000 {
				if _, _, err := nft.Counted(spaces[0].Path(), "none", "none"); err == nil {
					t.Error("there is a counter")
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { counting.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
		}
		if is, err := os.Readlink(own); err != nil || is != was {
			t.Errorf("the process is in %s, and was in %s: %v", is, was, err)
			<-done
		}
	}
}
