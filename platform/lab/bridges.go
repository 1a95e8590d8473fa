package lab

import (
	"os"
	"path/filepath"
	"time"

	"nettoll/internal/netns"
)

// keepBridges has packets on the bridges of the machine go on to meet no rules, if they met none: where br_netfilter is not loaded, a
// program of the lab may load it, as dockerd does, and it is then turned on in all network namespaces. Packets between virtual
// machines would meet a firewall that was never made for them. It returns when done is closed. parameters is /proc/sys.
func keepBridges(parameters string, done <-chan struct{}) {
	const pause = 50 * time.Millisecond
	loaded := func() bool {
		_, err := os.Stat(filepath.Join(parameters, netns.BridgeNetfilter[0]))
		return err == nil
	}
	if loaded() {
		return
	}
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(pause):
		}
		if loaded() {
			for _, key := range append([]string{"net/bridge/bridge-nf-call-arptables"}, netns.BridgeNetfilter...) {
				_ = os.WriteFile(filepath.Join(parameters, key), []byte("0"), 0) // only root of the machine may, and nobody else can load it
			}
			return
		}
	}
}
