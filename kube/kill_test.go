package kube_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/bootstrap"
	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/kube"
)

// victimEnv tells this program to be a victim: it uses a cluster, and kills or stops itself.
const victimEnv = "NETTOLL_TEST_VICTIM"

// moments are the numbers of small writes to the API server after which victims end. With about the first thirty a victim
// asks about the cluster and makes the keeper; then it makes pods and services. The last one ends when it has done all.
var moments = []int{1, 10, 20, 26, 28, 30, 33, 40, 60, 100, 150, 200, 280, 360, 440, 520, 600, 660, 710, 100_000}

// stopped are the moments at which a victim is stopped instead of killed. There are none while the keeper's agent is on its
// way: it would take minutes until the cluster has noticed.
var stopped = []int{20, 26, 33, 520, 100_000}

// victim is a process that kills or stops itself in the middle of its work. A process that is stopped is as silent as one
// whose cable is pulled, and its connections stay open.
type victim struct {
	number int
	writes int
	by     syscall.Signal
	cmd    *exec.Cmd
	left   []string // what was there when it had ended
}

// kill starts victims, some at a time, and returns when all have ended.
func (c theirs) kill(t *testing.T, config, namespace string) (all []*victim) {
	t.Helper()
	agent, err := c.agents.File("")
	iferr.Fatal(t, err)
	room := make(chan struct{}, 2)
	var ending sync.WaitGroup
	for i, writes := range moments {
		v := &victim{number: i, writes: writes, by: syscall.SIGKILL}
		if slices.Contains(stopped, writes) {
			v.by = syscall.SIGSTOP
		}
		all = append(all, v)
		room <- struct{}{}
		ending.Go(func() {
			defer func() { <-room }()
			ns := strings.Replace(c.Nodes[0].Facts().NetNS, "/proc/self/", fmt.Sprintf("/proc/%d/", os.Getpid()), 1)
			if err := v.run(config, ns, agent); err != nil {
				t.Errorf("victim of %v after %d writes: %v", v.by, v.writes, err)
			}
			v.left = c.leftOf(t, namespace, v.id())
		})
	}
	ending.Wait()
	sizes := map[int]bool{}
	for _, v := range all {
		sizes[len(v.left)] = true
	}
	if len(sizes) < 3 || len(all[0].left) > 0 || len(all[len(all)-1].left) != 6 { // a job with its pod, two pods, two services
		t.Errorf("victims left %d different numbers of objects, the first %v, the last %v", len(sizes), all[0].left, all[len(all)-1].left)
	}
	return all
}

// id is the id of its run, from which objects are named.
func (v *victim) id() string { return fmt.Sprintf("victim%04d", v.number) }

func (v *victim) run(config, ns, agent string) error {
	v.cmd = exec.Command("/proc/self/exe")
	v.cmd.Env = append(os.Environ(), victimEnv+"="+strings.Join([]string{config, ns, v.id(), strconv.Itoa(v.writes), strconv.Itoa(int(v.by)), agent}, " "))
	v.cmd.Stderr = os.Stderr
	if err := v.cmd.Start(); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		pid, err := syscall.Wait4(v.cmd.Process.Pid, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err != nil:
			return err
		case pid > 0 && (status.Signaled() && status.Signal() == v.by || status.Stopped() && status.StopSignal() == v.by):
			return nil
		case pid > 0:
			return fmt.Errorf("it ended otherwise: %#x", status)
		case time.Now().After(deadline):
			return fmt.Errorf("it did not end: %w", v.cmd.Process.Kill())
		}
	}
}

// bury ends a victim that was only stopped.
func (v *victim) bury() {
	if v.by == syscall.SIGSTOP && v.cmd.Process != nil {
		_ = v.cmd.Process.Kill()
		_, _ = syscall.Wait4(v.cmd.Process.Pid, nil, 0, nil)
	}
}

// small is the size in bytes below which writes are counted. Larger ones send the agent to pods, and there are thousands.
const small = 4096

// dying is a connection that ends its process after a number of small writes to all such connections.
type dying struct {
	net.Conn
	left *atomic.Int64
	by   syscall.Signal
}

func (d dying) Write(b []byte) (int, error) {
	n, err := d.Conn.Write(b)
	if len(b) < small && d.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), d.by)
	}
	return n, err
}

// beVictim makes two pods and a service for each, and then ends itself, unless it has ended before.
func beVictim(told string) error {
	f := strings.Fields(told)
	writes, err := strconv.Atoi(f[3])
	if err != nil {
		return err
	}
	by, err := strconv.Atoi(f[4])
	if err != nil {
		return err
	}
	var left atomic.Int64
	left.Store(int64(writes))
	ctx := context.Background()
	own := kube.NewOwn(kube.OwnOptions{
		Login: kube.Login{Config: f[0], Dial: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			err = netns.Do(f[1], func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
				return err
			})
			return dying{conn, &left, syscall.Signal(by)}, err
		}},
		Nodes: []string{"h1", "h2"}, Image: kube.AgentImage, Run: f[2],
		Agents: &bootstrap.Agents{File: func(string) (string, error) { return f[5], nil }},
	})
	used, err := own.Use(ctx, 2)
	if err != nil {
		return err
	}
	pods, err := used.Run(ctx, kube.PodSpec{Node: used.Nodes[0]}, kube.PodSpec{Node: used.Nodes[1]})
	if err != nil {
		return err
	}
	for i, p := range pods {
		if err := used.Expose(ctx, i, p, kube.Ports{First: 20001, Last: 20002}, kube.ClusterIP); err != nil {
			return err
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.Signal(by)); err != nil { // it has done everything
		return err
	}
	select {} // this thread may run for another moment
}
