package kubeproxy_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nsexec"
	"nettoll/network"
	"nettoll/network/kubeproxy"
	"nettoll/network/networktest"
	"nettoll/platform"
)

// TestLastService sends a greeting through the last of several further services, of either IP version.
func TestLastService(t *testing.T) {
	for _, tech := range kubeproxy.All(nil) {
		t.Run(tech.Name, func(t *testing.T) {
			topo := networktest.Pair
			topo.Services = 5
			n := networktest.Build(t, "kube-proxy", tech, topo)
			client, server := n.Clients[0], n.Servers[0]
			port, _ := topo.Ports(0)
			for _, f := range []network.Family{network.IPv4, network.IPv6} {
				own, err := n.Own(client, server, f)
				if err != nil {
					t.Fatal(err)
				}
				service, err := n.Addr(client, server, f)
				if err != nil {
					t.Fatal(err)
				}
				for range topo.Services {
					service = service.Next()
				}
				if got := greet(t, client, server, netip.AddrPortFrom(service, 80), netip.AddrPortFrom(own, uint16(port))); got != "hello" {
					t.Errorf("the last service led to a server that said %q", got)
				}
				// The one behind it does not exist.
				err = netns.Do(client.Facts().NetNS, func() error {
					_, err := net.DialTimeout("tcp", netip.AddrPortFrom(service.Next(), 80).String(), 200*time.Millisecond)
					return err
				})
				if err == nil {
					t.Errorf("%s answers", service.Next())
				}
			}
		})
	}
}

// greet has a server say hello to whoever connects, and returns what a client hears that dials an address.
func greet(t *testing.T, client, server platform.Endpoint, dial, listen netip.AddrPort) string {
	t.Helper()
	var l net.Listener
	err := netns.Do(server.Facts().NetNS, func() (err error) {
		l, err = net.Listen("tcp", listen.String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	var said string
	err = netns.Do(client.Facts().NetNS, func() error {
		c, err := net.DialTimeout("tcp", dial.String(), 5*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		_, err = fmt.Fscan(c, &said)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return said
}

// TestControlPlaneStops checks that etcd and the API server use no CPU time while payload is measured, that
// the network notices when kube-proxy ends, and that it can still be taken down.
func TestControlPlaneStops(t *testing.T) {
	n := networktest.Build(t, "kube-proxy", kubeproxy.All(nil)[0], networktest.Pair)
	if err := n.Broken(t.Context()); err != nil {
		t.Error(err)
	}
	for _, program := range []string{"^[^ ]*etcd --name", "^[^ ]*kube-apiserver "} {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process(t, n.Hosts[0], program)))
		if err != nil || !strings.Contains(string(status), "State:\tT (stopped)\n") {
			t.Errorf("%s: %v, want it stopped:\n%s", program, err, status)
		}
	}
	if err := unix.Kill(process(t, n.Hosts[1], "--hostname-override=h2"), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var err error
	for ; err == nil && ctx.Err() == nil; err = n.Broken(ctx) {
		time.Sleep(time.Millisecond) // the end is noticed by another goroutine
	}
	if err == nil || !strings.HasPrefix(err.Error(), "kube-proxy on h2 ended (signal: killed)") {
		t.Error(err)
	}
}

// process returns the PID of the process whose command line matches.
func process(t *testing.T, on platform.Host, command string) (pid int) {
	t.Helper()
	var said strings.Builder
	err := nsexec.Run(t.Context(), on, platform.Command{Path: "pgrep", Args: []string{"-f", "--", command}, Stdout: &said})
	if _, scan := fmt.Sscan(said.String(), &pid); err != nil || scan != nil {
		t.Fatal(command, err, scan)
	}
	return pid
}
