package lab

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nettoll/platform"
)

// netnsDir is where ip-netns(8) looks for named namespaces. Inside the lab it is on the lab's own /run.
const netnsDir = "/run/netns"

// Publish names the namespaces of endpoints, so that "ip netns exec NAME" reaches them from a lab's shell.
func Publish[E platform.Endpoint](endpoints []E) error {
	if err := os.MkdirAll(netnsDir, 0o755); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	for _, e := range endpoints {
		ns := e.Facts().NetNS
		if ns == "" {
			continue
		}
		path := filepath.Join(netnsDir, e.Name())
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0)
		if os.IsExist(err) {
			continue // a host that is an endpoint twice
		}
		if err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		f.Close()
		if err := unix.Mount(ns, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("lab: name namespace %s: %w", e.Name(), err)
		}
	}
	return nil
}
