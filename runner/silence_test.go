package runner_test

import (
	"context"
	"errors"
	sockets "net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/workload"
	"nettoll/workload/engine"
	"nettoll/workload/workloadtest"
)

// storm has a container send to all others of its network until it is stopped.
type storm struct {
	stop, over chan struct{}
	ending     sync.Once
}

// newStorm begins a storm, which ends with the network at the latest.
func newStorm(t *testing.T, n *network.Network, from *plumb.Node) *storm {
	t.Helper()
	config := sockets.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		return errors.Join(raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1) }), err)
	}}
	var c sockets.PacketConn
	err := netns.Do(from.NS, func() (err error) {
		c, err = config.ListenPacket(t.Context(), "udp4", ":0")
		return err
	})
	iferr.Fatal(t, err)
	s := &storm{stop: make(chan struct{}), over: make(chan struct{})}
	end := n.Close
	n.Close = func(ctx context.Context) error {
		s.end()
		return end(ctx)
	}
	const senders = 4 // so that one of them gets a CPU on a busy machine
	var sending sync.WaitGroup
	raging := make(chan struct{}, senders)
	for range senders {
		sending.Go(func() {
			runtime.LockOSThread()                          // never unlocked, so that the thread with this priority ends with the goroutine
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -19) // a storm without a CPU would be silent
			for sent := 1; ; sent++ {
				select {
				case <-s.stop:
					return
				default:
					c.WriteTo([]byte("hello"), &sockets.UDPAddr{IP: sockets.IPv4(198, 19, 15, 255), Port: 9})
				}
				if sent == 100 { // many more than anything else sends
					raging <- struct{}{}
				}
				// Thousands of datagrams per second are a storm. With this priority, more would keep everything else on the
				// machine from running.
				pause := unix.NsecToTimespec(int64(time.Millisecond))
				_ = unix.Nanosleep(&pause, nil)
			}
		})
	}
	go func() {
		sending.Wait()
		c.Close()
		close(s.over)
	}()
	<-raging
	return s
}

func (s *storm) end() {
	s.ending.Do(func() { close(s.stop) })
	<-s.over
}

// bridged is a cell with a few containers that send nothing.
var bridged = record.Cell{
	Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: 30}, Tool: "engine",
	Workload: record.TCPRR, Placement: record.PlacementFree,
}

func TestTrialsBeginWhenTheNetworkIsSilent(t *testing.T) {
	var raging atomic.Bool
	a := altered(func(n *network.Network) error {
		s := newStorm(t, n, node(n.Servers[0]).Host.Nodes[2+7])
		raging.Store(true)
		time.AfterFunc(5*time.Second, func() { // until the network is watched, however long that takes to begin
			raging.Store(false) // first, since a trial may begin as soon as the storm has ended
			s.end()
		})
		return nil
	})
	a.Startup = time.Millisecond // as below
	tool := engine.New()
	run := tool.Run
	tool.Run = func(ctx context.Context, job workload.Job) (workload.Result, error) {
		if raging.Load() {
			t.Error("a trial begins in the storm")
		}
		return run(ctx, job)
	}
	other := bridged
	other.Family = 6
	trials := again(func() []record.Trial { return aRound(t, lab.New(), tool, a, bridged, other) })
	for i, tr := range trials {
		if tr.Status != record.OK || said(tr, "not-silent") != "" || said(tr, "foreign-packets") != "" {
			t.Errorf("%s: %s, %v", tr.Status, tr.Reason, tr.Warnings)
		}
		if (tr.Settle != nil) != (i == 0) {
			t.Errorf("trial %d: %+v", i, tr.Settle)
		}
	}
	// Each datagram reaches more than thirty containers and is counted at both ends.
	if s := trials[0].Settle; s == nil || !s.Silent || s.Wait <= 0 || s.Packets < 10_000 {
		t.Errorf("%+v", s)
	}
}

func TestNetworkThatNeverFallsSilent(t *testing.T) {
	defer runner.Hurry(300 * time.Millisecond)()
	a := altered(func(n *network.Network) error {
		newStorm(t, n, node(n.Servers[0]).Host.Nodes[2+7])
		return nil
	})
	a.Startup = time.Millisecond // the network is watched for a while, in which the storm gets a CPU on a busy machine, too
	stream := bridged
	stream.Workload = record.TCPStream
	trials := again(func() []record.Trial { return aRound(t, lab.New(), engine.New(), a, bridged, stream) })
	if trials[0].Settle == nil || trials[0].Settle.Silent || trials[1].Settle != nil {
		t.Errorf("%+v is told with the first trial, %+v with the second", trials[0].Settle, trials[1].Settle)
	}
	for _, tr := range trials {
		for code, want := range map[string]string{
			"not-silent":      "the network did not become silent: after ",
			"foreign-packets": ", which leads to a container that takes no part in the trial",
		} {
			if got := said(tr, code); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %q, want %s", tr.Cell.Workload, code, got, want)
			}
		}
	}
}

func TestSilentNetworkIsNotDoubted(t *testing.T) {
	tr := again(func() []record.Trial { return aRound(t, lab.New(), engine.New(), kernel.Bridge(), bridged) })[0]
	if tr.Status != record.OK || said(tr, "not-silent") != "" || said(tr, "foreign-packets") != "" {
		t.Errorf("%s: %s, %v", tr.Status, tr.Reason, tr.Warnings)
	}
	if tr.Settle == nil || !tr.Settle.Silent {
		t.Errorf("%+v", tr.Settle)
	}
}

// TestOthersPacketsAreNoSign checks that devices of somebody else's machines, which others use, too, do not tell whether a network is
// silent: one that is never silent, and one that cannot be read since the payload need not cross it.
func TestOthersPacketsAreNoSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &way{name: "ssh:native"}
		f.shared = []network.Hop{
			{Name: "h1/eth0", Kind: network.Device, Common: true, Read: func(context.Context) (network.Count, error) {
				return network.Count{Bytes: f.w.crossed.Load(), Packets: 10 * uint64(time.Now().UnixMilli()), InPackets: 5 * uint64(time.Now().UnixMilli())}, nil
			}},
			{Name: "h1/tun0", Kind: network.Device, May: true, Read: func(context.Context) (network.Count, error) {
				return network.Count{}, errGone
			}},
		}
		b := newBench(f)
		b.Settings.MaxRounds = 1
		end, err := b.run(t, t.Context())
		ends(t, end, err, record.EndMaxRounds, 1)
		if tr := b.trials[0]; tr.Status != record.OK || said(tr, "not-silent") != "" || tr.Settle == nil || !tr.Settle.Silent {
			t.Errorf("%s: %s: %+v, %v", tr.Status, tr.Reason, tr.Settle, tr.Warnings)
		}
	})
}

// TestTimeAfterNoise has a network that took minutes to build, and sends for most of the time in which it should fall silent. The
// rest that it is given afterwards is not cut short.
func TestTimeAfterNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &way{name: "net", distant: true, connect: func(context.Context, int) error {
			time.Sleep(10 * time.Minute)
			return nil
		}}
		f.shared = []network.Hop{{Name: "h1/eth0", Kind: network.Device, Read: func(context.Context) (network.Count, error) {
			since := min(time.Since(f.w.built), 25*time.Second)
			return network.Count{Bytes: f.w.crossed.Load(), Packets: 10 * uint64(since.Milliseconds()), InPackets: 5 * uint64(since.Milliseconds())}, nil
		}}}
		b := newBench(f)
		b.Settings.MaxRounds = 1
		_, err := b.run(t, t.Context())
		iferr.Fatal(t, err)
		if tr := b.trials[0]; tr.Settle == nil || !tr.Settle.Silent { // that there are no machines to ask fails it later
			t.Errorf("%+v", tr.Settle)
		}
	})
}

// TestOtherMachinesAreGivenTime has networks that took a minute to build. Their machines may still work on for a tenth of that: on
// this one, idle CPUs end the wait, and say nothing of others.
func TestOtherMachinesAreGivenTime(t *testing.T) {
	const building = time.Minute
	for _, distant := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &way{name: "net", distant: distant, connect: func(context.Context, int) error {
				time.Sleep(building)
				return nil
			}}
			b := newBench(f)
			b.Settings.MaxRounds = 1
			_, err := b.run(t, t.Context())
			iferr.Fatal(t, err)
			if took := b.w.closed.Sub(b.w.built); (took >= building/10) != distant {
				t.Errorf("on other machines: %v; it was measured and closed after %v", distant, took)
			}
		})
	}
}

// TestForeignPacketsInMidTrial: in a network without silent containers, the trial's endpoints receive
// the packets that are for everybody.
func TestForeignPacketsInMidTrial(t *testing.T) {
	for _, neighbours := range []int{0, 30} {
		c := bridged
		c.Servers, c.Clients, c.Neighbours = 2, 2, neighbours
		tr := again(func() []record.Trial {
			var built *network.Network
			tool := workloadtest.Disturbed(engine.New(), func() { newStorm(t, built, node(built.Servers[1])) })
			return aRound(t, lab.New(), tool, shown(kernel.Bridge(), &built), c)
		})[0]
		if got := said(tr, "foreign-packets"); tr.Status != record.OK || !strings.Contains(got, "something else sent traffic through the network") {
			t.Errorf("%d neighbours: %s: %s: %q", neighbours, tr.Status, tr.Reason, got)
		}
	}
}

// TestTrialsBeginWhenAPacketHasCrossed has a network report that it is ready, but carry nothing for
// longer than a generator of traffic waits.
func TestTrialsBeginWhenAPacketHasCrossed(t *testing.T) {
	a := altered(func(n *network.Network) error {
		fw, err := nft.New(host(n), "wall")
		if err != nil {
			return err
		}
		fw.BaseChain("forward", nft.Forward, true)
		if err := fw.Commit(); err != nil {
			return err
		}
		time.AfterFunc(3*time.Second, func() {
			iferr.Error(t, fw.Remove())
		})
		return nil
	})
	for _, tr := range again(func() []record.Trial { return measure(t, lab.New(), engine.New(), a, 4, 6) }) {
		if tr.Status != record.OK {
			t.Errorf("IPv%d: %s: %s", tr.Cell.Family, tr.Status, tr.Reason)
		}
	}
}
