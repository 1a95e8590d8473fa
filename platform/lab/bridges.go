package lab

import (
	"os"
	"path/filepath"
	"time"

	"nettoll/internal/netns"
)

// startTime is how long an engine may take to load the modules that it needs, from when the lab says that it starts one: some load
// them only with the first network, or when they join a swarm.
const startTime = 5 * time.Minute

// keepBridges returns a function that has packets on the bridges of the machine go on to meet no rules, if they met none when it was
// called: where br_netfilter is not loaded, dockerd may load it, and it is then turned on in all network namespaces. Packets between
// virtual machines would meet a firewall that was never made for them. The function waits for that until ended is closed, and no
// longer than startTime: somebody else may load the module later, and want it. parameters is /proc/sys.
func keepBridges(parameters string) (wait func(ended <-chan struct{})) {
	loaded := func() bool {
		_, err := os.Stat(filepath.Join(parameters, netns.BridgeNetfilter[0]))
		return err == nil
	}
	if loaded() {
		return func(<-chan struct{}) {}
	}
	return func(ended <-chan struct{}) {
		const pause = 50 * time.Millisecond
		for deadline, over := time.Now().Add(startTime), false; !over && time.Now().Before(deadline); {
			select {
			case <-ended:
				over = true
			case <-time.After(pause):
			}
			if loaded() {
				for _, key := range append([]string{"net/bridge/bridge-nf-call-arptables"}, netns.BridgeNetfilter...) {
					_ = os.WriteFile(filepath.Join(parameters, key), []byte("0"), 0) // only root of the machine may, and nobody else can start an engine
				}
				return
			}
		}
	}
}
