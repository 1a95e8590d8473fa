// Package flanneld knows the daemon flanneld of the project flannel, and what it writes for programs that attach containers.
package flanneld

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
)

// Program is the program flanneld.
var Program = daemon.Program{Name: "flanneld", Get: "make tools"}

// MTU returns the MTU in bytes that the flanneld of a host has written to its file for containers (-subnet-file), in lines of the form
// FLANNEL_MTU=1450. It is an error if there is no such file yet, or if flanneld has another subnet than the host has in the
// address plan; six says that it must have one of IPv6, too.
func MTU(file string, host int, six bool) (int, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, errors.New("it has written no lease")
	}
	if err != nil {
		return 0, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	for key, of := range map[string]bool{"FLANNEL_SUBNET": false, "FLANNEL_IPV6_SUBNET": true} {
		want := netip.PrefixFrom(plumb.Gateway(host, of), plumb.Subnet(host, of).Bits()).String()
		if got := values[key]; got != want && (six || !of) {
			return 0, fmt.Errorf("flanneld's subnet file: %s is %q, not the host's %s", key, got, want)
		}
	}
	mtu, err := strconv.Atoi(values["FLANNEL_MTU"])
	return mtu, wrap.Error(err, "flanneld's subnet file: FLANNEL_MTU")
}
