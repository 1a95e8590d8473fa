package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/testutil"
	"nettoll/record"
)

// The made-up LAN that the engine's machine is on, and where its published ports are.
var (
	lan4         = netip.MustParseAddr("198.18.9.1")
	lan6         = netip.MustParseAddr("2001:2:0:909::1")
	engineBridge = netip.MustParseAddr("198.19.240.1")
)

// lanPorts are those of a server with one client.
const lanFirst, lanLast = 20001, 20008

// lanSuite has every server of every tool, on all networks where others could reach it.
const lanSuite = `name: lan
about: servers beside a LAN
networks: [%s]
hosts: [1]
families: [%s]
tools: [engine]
workloads: [%s]
duration: 300ms
warmup: 0s
min_rounds: 1
max_rounds: 1
placements: [free]
`

// lanWorkloads are by which servers listen for TCP and UDP, for control and for data.
var lanWorkloads = []string{
	"{name: tcp_rr, tools: [engine, netperf, qperf, sockperf]}",
	"{name: redis, tools: [redis-benchmark]}",
	"{name: postgres, tools: [pgbench]}",
	"{name: http, tools: [engine, wrk]}",
	"{name: tcp_stream, tools: [iperf, iperf3, nuttcp]}",
	"{name: udp_stream, tools: [engine, iperf, iperf3, netperf, qperf, nuttcp, sockperf]}",
}

// TestNothingIsReachedFromTheLAN measures on an engine that is the user's own, whose machine is
// on a LAN. A peer there tries every port of every server all the time, at the machine's own
// addresses and, by a route over the machine, at the engine's bridge.
func TestNothingIsReachedFromTheLAN(t *testing.T) {
	e := startTheirs(t)
	l := e.joinLAN(t)
	// What this proves is held by these.
	servers := []string{"internal/keeper", "internal/program", "network/docker", "workload"}
	for i, w := range lanWorkloads {
		name, _, _ := strings.Cut(strings.TrimPrefix(w, "{name: "), ",")
		t.Run(name+"/IPv4", func(t *testing.T) {
			testutil.Rotate(t, i, servers...)
			l.run(t, "docker:host, docker:published, docker:bridge", "4", w)
		})
		t.Run(name+"/IPv6", func(t *testing.T) {
			testutil.Rotate(t, i+1, servers...)
			l.run(t, "docker:native, docker:host", "6", w)
		})
	}
}

// lan is the engine's machine and a peer beside it.
type lan struct {
	e    *theirEngine
	here string // network namespace of the machine
	peer string // of the peer
}

// joinLAN gives the engine's machine a LAN with a peer.
func (e *theirEngine) joinLAN(t *testing.T) *lan {
	t.Helper()
	peer := startProgram(t, t.TempDir(), "unshare", "--net", "sleep", "1000")
	l := &lan{e, fmt.Sprintf("/proc/%d/ns/net", e.init), fmt.Sprintf("/proc/%d/ns/net", peer.Process.Pid)}
	own, _ := os.Readlink("/proc/self/ns/net")
	until(t, "the peer has a network of its own", func() bool {
		is, err := os.Readlink(l.peer)
		return err == nil && is != own
	})
	in := func(pid int, script string) {
		t.Helper()
		if out, err := exec.Command("nsenter", "-n", "-t", strconv.Itoa(pid), "sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
	}
	in(e.init, fmt.Sprintf("ip link add lan0 type veth peer name peer0 netns %d", peer.Process.Pid))
	// Refused datagrams are answered as often as they come.
	in(e.init, fmt.Sprintf(`ip addr add %v/24 dev lan0; ip addr add %v/64 dev lan0 nodad; ip link set lan0 up
		echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit`, lan4, lan6))
	in(peer.Process.Pid, fmt.Sprintf(`ip link set lo up; ip link set peer0 up; ip addr add %v/24 dev peer0; ip addr add %v/64 dev peer0 nodad
		ip route add %v/21 via %v`, lan4.Next(), lan6.Next(), netip.PrefixFrom(engineBridge, 21).Masked().Addr(), lan4))
	return l
}

// run measures, and wants nothing to be reached meanwhile.
func (l *lan) run(t *testing.T, networks, family, workload string) {
	dir, was := t.TempDir(), before(t)
	if family == "6" {
		workload = strings.ReplaceAll(workload, ", sockperf]", "]") // which knows IPv4 only
	}
	suite := fmt.Sprintf(lanSuite, networks, family, workload)
	if err := os.WriteFile(filepath.Join(dir, "lan.yaml"), []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	done, seen := make(chan struct{}), &sightings{}
	if err := netns.Do(l.here, func() (err error) { seen.before, err = waitingSockets(); return err }); err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(func() { seen.watch(t, l.here, done) })
	first := engineBridge.Next() // container
	for _, at := range []netip.Addr{lan4, lan6, engineBridge, first, first.Next()} {
		for port := lanFirst; port <= lanLast; port++ {
			to := netip.AddrPortFrom(at, uint16(port))
			watching.Go(func() { seen.try(t, l.peer, to, done) })
			watching.Go(func() { seen.persist(t, l.peer, to, done) })
		}
	}
	p := l.e.inside(t, dir, "nettoll", "run", "--suite", "lan.yaml", "-o", "x.ndjson")
	select {
	case <-p.done:
	case <-time.After(10 * time.Minute):
		t.Error("nettoll did not end")
		_ = p.Process.Kill()
	}
	status := p.status(t)
	close(done)
	watching.Wait()

	file, err := record.ReadFile(filepath.Join(dir, "x.ndjson"))
	if err != nil || len(file.Trials) == 0 {
		t.Fatalf("exit status %d, %v; it said:\n%s", status, err, p.said())
	}
	for _, trial := range file.Trials {
		if trial.Status != record.OK {
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
		}
	}
	if seen.servers == 0 {
		t.Error("no server was seen: nothing was proved")
	}
	for _, what := range slices.Sorted(maps.Keys(seen.reached)) {
		t.Errorf("%s, while %v were measured", what, seen.reached[what])
	}
	was.check(t, map[string]uint64{})
}

// sightings are what was seen during a run.
type sightings struct {
	before  []waitingSocket // of others
	mu      sync.Mutex
	servers int                 // sockets of servers that listened where they should, at most
	reached map[string][]string // what was reached that should not be
}

func (s *sightings) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached == nil {
		s.reached = map[string][]string{}
	}
	what := fmt.Sprintf(format, args...)
	if s.reached[what] == nil {
		s.reached[what] = programsNow()
	}
}

// programsNow are the names of the servers' programs that run.
func programsNow() (names []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, f := range files {
		b, _ := os.ReadFile(f) // it may have ended
		name := strings.TrimSpace(string(b))
		if slices.Contains([]string{"iperf", "iperf3", "netserver", "qperf", "sockperf", "nuttcp", "nginx", "redis-server", "postgres"}, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// watch looks at the sockets of the machine that wait for whoever comes.
func (s *sightings) watch(t *testing.T, ns string, done <-chan struct{}) {
	keepOn(t, ns, done, func() error {
		open, err := waitingSockets()
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(w waitingSocket) bool { return slices.Contains(s.before, w) })
		s.mu.Lock()
		s.servers = max(s.servers, len(open))
		s.mu.Unlock()
		for _, socket := range open {
			// At its bridge an engine's own proxy listens for what is published there.
			if a := socket.at.Addr(); !a.IsLoopback() && a != engineBridge {
				s.add("a socket waits for %s at %v", socket.protocol, socket.at)
			}
		}
		return nil
	})
}

type waitingSocket struct {
	protocol string
	at       netip.AddrPort
}

// waitingSockets are those of the calling thread's network namespace that wait for whoever
// comes: for TCP on any port, for UDP on those of servers.
func waitingSockets() (all []waitingSocket, err error) {
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != "0A" && f[3] != "07" { // listening, unconnected
				continue
			}
			address, number, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(number, 16, 16)
			mayBeAClient := f[3] == "07" // which are unconnected for a moment, on any port
			if err != nil || mayBeAClient && (port < lanFirst || port > lanLast+100) {
				continue
			}
			var bytes []byte
			for i := 0; i+8 <= len(address); i += 8 {
				word, err := strconv.ParseUint(address[i:i+8], 16, 32)
				if err != nil {
					return nil, err
				}
				bytes = append(bytes, byte(word), byte(word>>8), byte(word>>16), byte(word>>24)) // of a little-endian machine
			}
			a, _ := netip.AddrFromSlice(bytes)
			all = append(all, waitingSocket{table[:3], netip.AddrPortFrom(a.Unmap(), uint16(port))})
		}
	}
	return all, nil
}

// keepOn does something in a network namespace, again and again.
func keepOn(t *testing.T, ns string, done <-chan struct{}, each func() error) {
	err := netns.Do(ns, func() error {
		for {
			if err := each(); err != nil {
				return err
			}
			select {
			case <-done:
				return nil
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// try asks for a connection and sends a datagram, again and again, from the peer.
func (s *sightings) try(t *testing.T, ns string, at netip.AddrPort, done <-chan struct{}) {
	silent := 0
	keepOn(t, ns, done, func() error {
		conn, err := net.DialTimeout("tcp", at.String(), 100*time.Millisecond)
		if err == nil {
			conn.Close()
			s.add("a peer on the LAN is connected to %v", at)
		}
		answered, refused, err := datagram(at)
		if err != nil {
			return err
		}
		if answered {
			s.add("a peer on the LAN is answered from %v", at)
		}
		// A busy kernel does not answer each. At the bridge and behind it there is nobody to refuse.
		if silent++; refused || !slices.Contains([]netip.Addr{lan4, lan6}, at.Addr()) {
			silent = 0
		}
		if silent == 8 {
			s.add("datagrams of a peer on the LAN are not refused at %v", at)
		}
		return nil
	})
}

// persist sends datagrams from one and the same port, from before anything listens: a machine
// that has seen the first of them goes on with the rest as it did with that.
func (s *sightings) persist(t *testing.T, ns string, to netip.AddrPort, done <-chan struct{}) {
	var conn net.PacketConn
	keepOn(t, ns, done, func() (err error) {
		if conn == nil {
			if conn, err = net.ListenPacket("udp", ":0"); err != nil {
				return err
			}
			go func() {
				if _, from, err := conn.ReadFrom(make([]byte, 1500)); err == nil {
					s.add("a peer on the LAN is answered by %v, to whom it speaks on and on", from)
				}
			}()
		}
		_, _ = conn.WriteTo([]byte("is still nobody there?"), net.UDPAddrFromAddrPort(to)) // where refused before
		return nil
	})
	if conn != nil {
		conn.Close()
	}
}

// datagram sends one, and waits for what comes of it.
func datagram(to netip.AddrPort) (answered, refused bool, err error) {
	conn, err := net.Dial("udp", to.String())
	if err != nil {
		return false, false, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	_, wrote := conn.Write([]byte("who is there?"))
	n, read := conn.Read(make([]byte, 1500))
	return n > 0, errors.Is(wrote, syscall.ECONNREFUSED) || errors.Is(read, syscall.ECONNREFUSED), nil
}
