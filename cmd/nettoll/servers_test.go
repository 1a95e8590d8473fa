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

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/record"
)

// The simulated LAN of the engine's machine, and the addresses of its published ports.
var (
	lan4         = netip.MustParseAddr("198.18.9.1")
	lan6         = netip.MustParseAddr("2001:2:0:909::1")
	engineBridge = netip.MustParseAddr("198.19.240.1")
)

// lanFirst to lanLast are the ports of a server with one client. At lanNobody nobody ever listens.
const lanFirst, lanLast, lanNobody = 20001, 20008, 9

// lanSuite has every server of every tool, on all networks where others could reach it.
const lanSuite = `name: lan
about: servers beside a LAN
networks: [%s]
baseline: %s
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

// lanWorkloads cover servers that listen for TCP and UDP, for control and for data.
var lanWorkloads = []string{
	"{name: tcp_rr, tools: [engine, netperf, qperf, sockperf]}",
	"{name: redis, tools: [redis-benchmark]}",
	"{name: udp_stream, tools: [engine, iperf, iperf3, netperf, qperf, nuttcp, sockperf]}",
	"{name: postgres, tools: [pgbench]}",
	"{name: http, tools: [engine, wrk]}",
	"{name: tcp_stream, tools: [iperf, iperf3, nuttcp]}",
}

// TestLANWorkloadsHaveEveryTool checks that no tool is left out of TestNothingIsReachedFromTheLAN.
func TestLANWorkloadsHaveEveryTool(t *testing.T) {
	var named []string
	for _, w := range lanWorkloads {
		_, list, _ := strings.Cut(w, "tools: [")
		named = append(named, strings.Split(strings.TrimSuffix(list, "]}"), ", ")...)
	}
	for _, tool := range toolsOfPrograms() {
		if !slices.Contains(named, tool.Name) {
			t.Errorf("%s is in none of lanWorkloads: nothing proves that its server cannot be reached from a LAN", tool.Name)
		}
	}
}

// TestNothingIsReachedFromTheLAN measures on the user's own engine, whose machine is on a LAN. A peer there
// constantly tries every port of every server, at the machine's own addresses and, by a route over the machine, at
// the engine's bridge.
func TestNothingIsReachedFromTheLAN(t *testing.T) {
	e := startTheirs(t)
	l := e.joinLAN(t)
	// These packages implement what the test proves.
	servers := []string{"internal/keeper", "internal/program", "network/docker", "workload"}
	for i, w := range lanWorkloads {
		name, _, _ := strings.Cut(strings.TrimPrefix(w, "{name: "), ",")
		t.Run(name+"/IPv4", func(t *testing.T) {
			turn.Rotate(t, i, servers...)
			l.run(t, "docker:host", "docker:native", "4", w)
			l.run(t, "docker:published", "docker:bridge", "4", w)
		})
		t.Run(name+"/IPv6", func(t *testing.T) {
			turn.Rotate(t, i+1, servers...)
			l.run(t, "docker:host", "docker:native", "6", w)
		})
	}
}

// lan is the engine's machine and a peer on its LAN.
type lan struct {
	e    *theirEngine
	here string // network namespace of the machine
	peer string // of the peer
}

// joinLAN gives the engine's machine a LAN with a peer.
func (e *theirEngine) joinLAN(t *testing.T) *lan {
	t.Helper()
	peer := startProgram(t, t.TempDir(), "unshare", "--net", "sleep", "100000")
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
	// Without a rate limit, every refused datagram is answered.
	in(e.init, fmt.Sprintf(`ip addr add %v/24 dev lan0; ip addr add %v/64 dev lan0 nodad; ip link set lan0 up
		echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit`, lan4, lan6))
	in(peer.Process.Pid, fmt.Sprintf(`ip link set lo up; ip link set peer0 up; ip addr add %v/24 dev peer0; ip addr add %v/64 dev peer0 nodad
		ip route add %v/21 via %v`, lan4.Next(), lan6.Next(), netip.PrefixFrom(engineBridge, 21).Masked().Addr(), lan4))
	return l
}

// run measures a network and its baseline, and checks that nothing can be reached meanwhile.
func (l *lan) run(t *testing.T, network, baseline, family, workload string) {
	t.Helper()
	dir, was := t.TempDir(), before(t)
	if family == "6" {
		workload = strings.ReplaceAll(workload, ", sockperf", "") // sockperf supports IPv4 only
	}
	suite := fmt.Sprintf(lanSuite, network, baseline, family, workload)
	iferr.Fatal(t, os.WriteFile(filepath.Join(dir, "lan.yaml"), []byte(suite), 0o644))
	done, seen := make(chan struct{}), &sightings{}
	iferr.Fatal(t, netns.Do(l.here, func() (err error) { seen.before, err = waitingSockets(); return err }))
	var watching sync.WaitGroup
	watching.Go(func() { seen.watch(t, l.here, done) })
	first := engineBridge.Next() // the first container
	for _, at := range []netip.Addr{lan4, lan6, engineBridge, first, first.Next()} {
		for port := lanFirst; port <= lanLast; port++ {
			to := netip.AddrPortFrom(at, uint16(port))
			watching.Go(func() { seen.try(t, l.peer, to, done) })
			watching.Go(func() { seen.persist(t, l.peer, to, done) })
		}
	}
	var p *started
	var file string
	for i := range attempts {
		file = fmt.Sprintf("%d.ndjson", i)
		p = l.e.inside(t, dir, "nettoll", "run", "--suite", "lan.yaml", "-o", file)
		select {
		case <-p.done:
		case <-time.After(10 * time.Minute):
			t.Error("nettoll did not end")
			_ = p.Process.Kill()
		}
		if p.status(t) != exitFailure || t.Failed() {
			break
		}
		t.Logf("an attempt failed: %s", p.err.String())
	}
	close(done)
	watching.Wait()

	p.ends(t, exitOK)
	good(t, filepath.Join(dir, file))
	if seen.servers == 0 {
		t.Error("no server was seen: nothing was proved")
	}
	for _, what := range slices.Sorted(maps.Keys(seen.reached)) {
		t.Errorf("%s, while %v were measured", what, seen.reached[what])
	}
	was.check(t, map[string]uint64{})
}

// sightings are the observations during a run.
type sightings struct {
	before  []waitingSocket // of other programs
	mu      sync.Mutex
	servers int                 // most sockets of servers seen listening where they should
	reached map[string][]string // what was reached but should not be
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

// programsNow returns the names of the servers' programs that are running.
func programsNow() (names []string) {
	var servers []string
	for _, tool := range toolsOfPrograms() {
		all := tool.Names()
		servers = append(servers, all[len(all)-1])
	}
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		if name, _ := p.Comm(); slices.Contains(servers, name) { // it may have ended
			names = record.AddNew(names, name)
		}
	}
	return names
}

// watch records the sockets of the machine that anyone can connect to. The kernel searches the table of all connections
// for them, which takes 10 ms.
func (s *sightings) watch(t *testing.T, ns string, done <-chan struct{}) {
	keepOn(t, ns, 2*tryTime, done, func() error {
		open, err := waitingSockets()
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(w waitingSocket) bool { return slices.Contains(s.before, w) })
		s.mu.Lock()
		s.servers = max(s.servers, len(open))
		s.mu.Unlock()
		for _, socket := range open {
			// At its bridge, an engine's own proxy listens for published ports.
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

// waitingSockets returns the sockets of the calling thread's network namespace that anyone can connect to: for TCP
// on any port, for UDP on those of servers.
func waitingSockets() (all []waitingSocket, err error) {
	fs, err := procfs.NewFS("/proc/thread-self")
	if err != nil {
		return nil, err
	}
	tcp, err := fs.NetTCP()
	tcp6, err6 := fs.NetTCP6()
	udp, errUDP := fs.NetUDP()
	udp6, errUDP6 := fs.NetUDP6()
	for _, s := range append(tcp, tcp6...) {
		if s.St == 0x0a { // listening
			all = append(all, waitingSocket{"tcp", addrPort(s.LocalAddr, s.LocalPort)})
		}
	}
	for _, s := range append(udp, udp6...) {
		// Clients are unconnected for a moment, too, on any port.
		if s.St == 0x07 && s.LocalPort >= lanFirst && s.LocalPort <= lanLast+100 {
			all = append(all, waitingSocket{"udp", addrPort(s.LocalAddr, s.LocalPort)})
		}
	}
	return all, errors.Join(err, err6, errUDP, errUDP6)
}

func addrPort(ip net.IP, port uint64) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), uint16(port))
}

// tryTime is the time between two attempts to reach a server.
const tryTime = 50 * time.Millisecond

// keepOn repeats a function in a network namespace until done, with pauses.
func keepOn(t *testing.T, ns string, pause time.Duration, done <-chan struct{}, each func() error) {
	t.Helper()
	err := netns.Do(ns, func() error {
		for {
			if err := each(); err != nil {
				return err
			}
			select {
			case <-done:
				return nil
			case <-time.After(pause):
			}
		}
	})
	iferr.Error(t, err)
}

// try repeatedly opens a connection and sends a datagram from the peer.
func (s *sightings) try(t *testing.T, ns string, at netip.AddrPort, done <-chan struct{}) {
	silent := 0
	keepOn(t, ns, tryTime, done, func() error {
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
		// A busy kernel does not answer each of them, but then none at other ports either. At the bridge and behind it, nothing
		// refuses.
		if refused || !slices.Contains([]netip.Addr{lan4, lan6}, at.Addr()) {
			silent = 0
		} else if _, answers, err := datagram(netip.AddrPortFrom(at.Addr(), lanNobody)); err != nil {
			return err
		} else if answers {
			silent++
		}
		if silent == 8 {
			s.add("datagrams of a peer on the LAN are not refused at %v", at)
		}
		return nil
	})
}

// persist sends datagrams from one port, starting before anything listens: a machine that has seen the first of
// them treats the rest in the same way.
func (s *sightings) persist(t *testing.T, ns string, to netip.AddrPort, done <-chan struct{}) {
	var conn net.PacketConn
	keepOn(t, ns, tryTime, done, func() (err error) {
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
		_, _ = conn.WriteTo([]byte("is still nobody there?"), net.UDPAddrFromAddrPort(to)) // fails if an earlier one was refused
		return nil
	})
	if conn != nil {
		conn.Close()
	}
}

// datagram sends one datagram, and waits for an answer or a refusal.
func datagram(to netip.AddrPort) (answered, refused bool, err error) {
	conn, err := net.Dial("udp", to.String())
	if err != nil {
		return false, false, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	_, wrote := conn.Write([]byte("who is there?"))
	n, read := conn.Read(make([]byte, 1500))
	refused = errors.Is(wrote, syscall.ECONNREFUSED) || errors.Is(read, syscall.ECONNREFUSED)
	if n == 0 && !refused { // it may have been refused while this thread waited for a CPU until the time was over
		raw, err := conn.(*net.UDPConn).SyscallConn()
		if err != nil {
			return false, false, err
		}
		err = raw.Control(func(fd uintptr) {
			code, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
			refused = syscall.Errno(code) == syscall.ECONNREFUSED
		})
		if err != nil {
			return false, false, err
		}
	}
	return n > 0, refused, nil
}

// serversOf returns the processes of a server's program in the engine's namespaces, with their command lines.
func (e *theirEngine) serversOf(name string) (found []string) {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root/proc/[0-9]*", e.init))
	for _, dir := range dirs {
		comm, err := os.ReadFile(dir + "/comm")
		if err == nil && strings.TrimSpace(string(comm)) == name {
			line, _ := os.ReadFile(dir + "/cmdline")
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestServersEndWithNettoll kills nettoll while forking servers run on the user's machine, outside and inside of
// containers, and checks that none is left.
func TestServersEndWithNettoll(t *testing.T) {
	e := startTheirs(t)
	for _, c := range []struct{ network, tool, workload, server string }{
		{"docker:native", "wrk", "http", "nginx"},
		{"docker:native", "pgbench", "postgres", "postgres"},
		{"docker:host", "wrk", "http", "nginx"},
	} {
		t.Run(c.network+" "+c.server, func(t *testing.T) {
			was := before(t)
			p := e.inside(t, t.TempDir(), "nettoll", "run", c.network, "--baseline", c.network, "--tool", c.tool, "--workloads", c.workload,
				"--placement", "free", "-t", "60s", "--min-rounds", "1", "--max-rounds", "1", "-o", "x.ndjson")
			until(t, "the server has children", func() bool {
				if p.ended() {
					t.Fatal(p.said())
				}
				return len(e.serversOf(c.server)) > 1
			})
			killRuns(t)
			p.status(t)
			until(t, "no server is left", func() bool { return len(e.serversOf(c.server)) == 0 })
			was.check(t, nil)
		})
	}
}
