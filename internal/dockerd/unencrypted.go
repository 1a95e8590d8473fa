package dockerd

import (
	"os"
	"strconv"
	"strings"

	"nettoll/internal/netns"
)

// Unencrypted is how many packets the kernel of a host has dropped because a policy
// wants them encrypted and no IPsec state says how (XfrmOutNoStates of
// /proc/net/xfrm_stat). It is 0 where nobody counts them.
func (h *Host) Unencrypted() (packets uint64) {
	if !h.reachable() {
		return 0
	}
	_ = netns.Do(h.NetNS(), func() error {
		b, err := os.ReadFile("/proc/thread-self/net/xfrm_stat")
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "XfrmOutNoStates" {
				packets, err = strconv.ParseUint(f[1], 10, 64)
			}
		}
		return err
	})
	return packets
}
