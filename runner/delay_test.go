package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/analysis"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/runner/runnertest"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// relay removes two devices of a namespace from their bridge and carries frames between them with a
// delay. Not every kernel has its own delay (netem).
func relay(t *testing.T, ns string, delay time.Duration) {
	t.Helper()
	var ports []int
	err := nl.With(ns, func(n *nl.NS) error {
		links, err := n.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Attrs().MasterIndex > 0 && l.Type() == "veth" {
				ports = append(ports, l.Attrs().Index)
				if err := n.LinkSetNoMaster(l); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || len(ports) != 2 {
		t.Fatalf("ports of the bridge are %v, error %v", ports, err)
	}
	sockets := make([]int, 2)
	for i, index := range ports {
		err := netns.Do(ns, func() (err error) {
			const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
			if sockets[i], err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
				return err
			}
			if err = unix.SetsockoptInt(sockets[i], unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
				return err
			}
			_ = unix.SetsockoptInt(sockets[i], unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
			tv := unix.NsecToTimeval(int64(50 * time.Millisecond))
			if err = unix.SetsockoptTimeval(sockets[i], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
				return err
			}
			return unix.Bind(sockets[i], &unix.SockaddrLinklayer{Protocol: all, Ifindex: index})
		})
		iferr.Fatal(t, err)
	}
	type frame struct {
		due  time.Time
		data []byte
	}
	over := make(chan struct{})
	var working sync.WaitGroup
	for i, from := range sockets {
		to := sockets[1-i]
		queue := make(chan frame, 1<<16)
		working.Go(func() {
			defer close(queue)
			for buf := make([]byte, 1<<16); ; {
				select {
				case <-over:
					return
				default:
				}
				n, err := unix.Read(from, buf)
				if err == nil {
					queue <- frame{time.Now().Add(delay), slices.Clone(buf[:n])}
				}
			}
		})
		working.Go(func() {
			for f := range queue {
				time.Sleep(time.Until(f.due))
				_, _ = unix.Write(to, f.data) // frames that do not fit are lost, as on any link
			}
		})
	}
	t.Cleanup(func() {
		close(over)
		working.Wait()
		for _, s := range sockets {
			unix.Close(s)
		}
	})
}

// TestAStartIsNotTakenForASteadyState has a path with a round-trip time of 40 ms and a warm-up of
// two round trips, so that the window shows how TCP finds its speed. On a busy machine the relay
// stalls, too, so it may take many runs until rounds agree.
func TestAStartIsNotTakenForASteadyState(t *testing.T) {
	for i := range 12 {
		var file *record.File
		t.Run(fmt.Sprint(i), func(t *testing.T) { file = slowStarts(t) })
		if file == nil {
			continue
		}
		rows := analysis.Analyze(file).Scenarios[0].Rows
		doubts := rows[len(rows)-1].Warnings
		i := slices.IndexFunc(doubts, func(w analysis.Warning) bool { return w.Code == analysis.WarnUnstationary })
		if i < 0 {
			t.Logf("no doubt about parts such as %v", file.Trials[0].Course.Bytes)
			continue
		}
		if w := doubts[i]; strings.Contains(w.Text, "more than the first") && strings.Contains(w.Advice, "--warmup") {
			return
		}
		t.Logf("doubt is %+v", doubts[i])
	}
	t.Error("no doubt that the window was a start")
}

// slowStarts runs over a bridge with a delay. It returns nil if a trial has failed.
func slowStarts(t *testing.T) *record.File {
	t.Helper()
	a := altered(func(n *network.Network) error {
		relay(t, host(n), 20*time.Millisecond)
		otherPath(n, func(real []network.Hop) []network.Hop { return real[:1] })
		return nil
	})
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{"bridge": {Platform: lab.New(), Driver: a}},
		Tools:    map[string]workload.Tool{"engine": engine.New()},
		Settings: record.Settings{Duration: 0.3, Warmup: 0.08, MaxRounds: 8},
		Cells: []record.Cell{{
			Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPStream,
			Options: record.Options{Congestion: "reno"}, Placement: record.PlacementFree, Offload: record.OffloadOff,
		}},
	}
	file := &record.File{Trials: runnertest.Run(t, r)}
	file.Run.Settings = r.Settings
	if anyFailed(file.Trials, "") {
		return nil
	}
	for _, tr := range file.Trials {
		if tr.Status != record.OK || tr.Course == nil || len(tr.Course.Bytes) != 10 {
			t.Fatalf("%s: %s, %+v", tr.Status, tr.Reason, tr.Course)
		}
	}
	return file
}
