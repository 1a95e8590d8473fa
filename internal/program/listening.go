package program

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Port is a port that a server opens.
type Port struct {
	Protocol string // "tcp" or "udp"
	Number   int
}

// States of sockets in /proc/net/tcp and udp: a server waits in one of these.
const (
	tcpListen = "0A"
	udpClosed = "07"
)

// listening returns when all ports are open in this network namespace. It is an error
// when ctx has ended before.
func listening(ctx context.Context, ports []Port, ended <-chan struct{}) error {
	for {
		missing, err := firstClosed(ports)
		if err != nil {
			return err
		}
		if missing == nil {
			return context.Cause(ctx)
		}
		select {
		case <-ended:
			return fmt.Errorf("ended instead of listening on %s port %d", missing.Protocol, missing.Number)
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %s port %d: %w", missing.Protocol, missing.Number, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// free says which of the ports somebody else has opened already.
func free(ports []Port) error {
	for i := range ports {
		missing, err := firstClosed(ports[i : i+1])
		if err != nil {
			return err
		}
		if missing == nil {
			return fmt.Errorf("%s port %d is in use", ports[i].Protocol, ports[i].Number)
		}
	}
	return nil
}

func firstClosed(ports []Port) (*Port, error) {
	open := map[Port]bool{}
	for _, protocol := range []string{"tcp", "udp"} {
		for _, family := range []string{"", "6"} {
			b, err := os.ReadFile("/proc/self/net/" + protocol + family)
			if os.IsNotExist(err) && family == "6" {
				continue // a kernel without IPv6
			}
			if err != nil {
				return nil, err
			}
			for _, n := range openPorts(string(b)) {
				open[Port{protocol, n}] = true
			}
		}
	}
	for i, p := range ports {
		if !open[p] {
			return &ports[i], nil
		}
	}
	return nil, nil
}

// openPorts reads the table of /proc/net/tcp or udp; see proc_pid_net(5).
func openPorts(table string) (ports []int) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != tcpListen && f[3] != udpClosed {
			continue
		}
		_, port, _ := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err == nil {
			ports = append(ports, int(n))
		}
	}
	return ports
}
