package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
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

	"nettoll/internal/oneline"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// faulty are the arguments of runs during which a cluster has faults. A trial takes seconds, in which three networks take
// turns.
func faulty(rounds int, networks ...string) []string { return faultyFor("2s", rounds, networks...) }

// faultyFor is faulty with trials of another length.
func faultyFor(each string, rounds int, networks ...string) []string {
	return append(networks, "--hosts", "2", "--workloads", "tcp_rr", "--placement", "free", "-t", each, "--warmup", "50ms",
		"--min-rounds", strconv.Itoa(rounds), "--max-rounds", strconv.Itoa(rounds), "--time-budget", "10m")
}

// commands returns the command lines of processes by their PIDs: those with a program of the name, or any if that is empty, and
// with all words.
func commands(t *testing.T, program string, words ...string) map[int][]string {
	t.Helper()
	processes, err := procfs.AllProcs()
	iferr.Fatal(t, err)
	all := map[int][]string{}
	for _, p := range processes {
		args, _ := p.CmdLine() // it may have ended
		is := len(args) > 0 && (program == "" || filepath.Base(args[0]) == program)
		if is && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(args, w) }) {
			all[p.PID] = args
		}
	}
	return all
}

// only returns the single process of a list.
func only(t *testing.T, all map[int][]string) (pid int, args []string) {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("there are %d such processes: %v", len(all), all)
	}
	for pid, args = range all {
	}
	return pid, args
}

// packets returns how many packets a device has carried, in the network of a process; 0 if there is no such device.
func packets(pid int, device string) (sum uint64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	for line := range strings.Lines(string(text)) {
		if name, counts, _ := strings.Cut(strings.TrimSpace(line), ":"); name == device {
			f := strings.Fields(counts)
			for _, i := range []int{1, 9} { // received, sent
				n, _ := strconv.ParseUint(f[i], 10, 64)
				sum += n
			}
		}
	}
	return sum
}

// late is until for what takes a cluster seconds on an idle machine, and minutes on a busy one. It ends early if nettoll does.
func late(t *testing.T, p *started, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		switch {
		case p.ended():
			t.Fatalf("it has ended before %s:\n%s", what, p.said())
		case time.Now().After(deadline):
			t.Fatalf("waited in vain until %s; it said:\n%s", what, p.said())
		}
	}
}

// inMidTrial waits for as many trials in a run file, and then until payload crosses a device that nothing else crosses.
func inMidTrial(t *testing.T, p *started, path string, after, pid int, device string) {
	t.Helper()
	late(t, p, fmt.Sprintf("there are %d trials", after), func() bool { return trials(path) >= after })
	was := packets(pid, device)
	late(t, p, "payload crosses "+device, func() bool { return packets(pid, device) >= was+1000 })
}

// outlived waits for the end of a run, and checks that all its trials are good but those of some rounds. One of these at least
// failed, for a reason that begins with the text given, and was told in one line.
func outlived(t *testing.T, p *started, path string, want int, failed map[int]string) {
	t.Helper()
	p.measures(t)
	file := read(t, path)
	if len(file.Trials) != want {
		t.Errorf("%d trials, want %d", len(file.Trials), want)
	}
	seen := map[int]bool{}
	for _, trial := range file.Trials {
		why, ok := failed[trial.Round]
		switch {
		case trial.Status == record.OK:
		case ok && trial.Status == record.Failed && strings.HasPrefix(trial.Reason, why):
			seen[trial.Round] = true
			line := fmt.Sprintf("%s on 2 hosts, tcp_rr: failed: %s", trial.Cell.Network, why)
			if n := strings.Count("\n"+p.err.String(), "\n"+line); n == 0 {
				t.Errorf("it does not say %q", line)
			}
		default:
			t.Errorf("%s in round %d: %s: %s", trial.Cell.Key(), trial.Round, trial.Status, trial.Reason)
		}
	}
	for round := range failed {
		if !seen[round] {
			t.Errorf("no trial has failed in round %d", round)
		}
	}
	if t.Failed() {
		t.Logf("it said\n%s", p.err.String())
	}
}

// TestForeignClusterFaults has the cluster of testdata/cluster/cluster.sh fail while runs measure on it.
func TestForeignClusterFaults(t *testing.T) { besideForeignCluster(t, "TestBesideFaultyCluster") }

// cutReason begins the reasons of trials whose pods have all lost their connections. If the end of one is noticed before that of the
// job's pod, it is about that one.
const cutReason = "the connection"

// TestBesideFaultyCluster runs beside the cluster.
func TestBesideFaultyCluster(t *testing.T) {
	if os.Getenv(besideCluster) == "" {
		t.Skip("it is run by TestForeignClusterFaults")
	}
	a := foreignAdmin(t)
	a.lets(t, "open", "privileged", "viewer")
	a.lets(t, "killed", "privileged", "viewer")
	a.lets(t, "drained", "privileged", "viewer")
	a.letsSeeNodes(t, "viewer")
	config := filepath.Join(os.Getenv(besideCluster), "viewer.kubeconfig")
	kubelet, _ := only(t, commands(t, "kubelet", "--hostname-override=alpha"))
	const tunnel = "flannel.1" // nothing but pods of different nodes sends through it
	networks := []string{"kubernetes:pod", "kubernetes:service"}

	t.Run("the API server restarts", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.ndjson")
		p := start(t, dir, foreignRun(config, "open", faulty(3, networks...)...)...)
		inMidTrial(t, p, path, 3, kubelet, tunnel)
		restart(t, "kube-apiserver")
		outlived(t, p, path, 9, map[int]string{2: cutReason})
		until(t, "the cluster has removed what belonged to jobs that had ended", func() bool { return len(a.left(t, "open")) == 0 })
		a.bare(t, "open")
	})

	t.Run("a proxy cuts connections", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.ndjson")
		proxy := relayTo(t, "192.168.77.1:6443")
		through := strings.Replace(content(t, config), `"https://192.168.77.1:6443"`, fmt.Sprintf(`"https://%s", tls-server-name: 192.168.77.1`, proxy.Addr()), 1)
		own := filepath.Join(dir, "config")
		iferr.Fatal(t, os.WriteFile(own, []byte(through), 0o600))
		p := start(t, dir, foreignRun(own, "open", faulty(4, networks...)...)...)
		inMidTrial(t, p, path, 3, kubelet, tunnel)
		proxy.cutLast() // which is that of a pod
		inMidTrial(t, p, path, 6, kubelet, tunnel)
		proxy.cutAll()
		outlived(t, p, path, 12, map[int]string{2: "the connection to pod nettoll-", 3: cutReason})
		until(t, "the cluster has removed what belonged to jobs that had ended", func() bool { return len(a.left(t, "open")) == 0 })
		a.bare(t, "open")
	})

	t.Run("a node is drained", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.ndjson")
		// Pods take seconds to end.
		p := start(t, dir, foreignRun(config, "drained", faultyFor("5s", 3, networks[0])...)...)
		for i, ofJob := range []bool{false, true} { // with the job's pod, all others end
			inMidTrial(t, p, path, 2*i, kubelet, tunnel)
			node := a.drain(t, "drained", ofJob)
			late(t, p, "the trials have failed", func() bool { return trials(path) >= 2*(i+1) })
			a.cordon(t, node, false)
		}
		outlived(t, p, path, 6, map[int]string{1: "", 2: ""})
		for _, trial := range read(t, path).Trials {
			if want := "has ended: somebody has removed it, as when its node is drained"; trial.Status != record.OK && !strings.Contains(trial.Reason, want) {
				t.Errorf("%s in round %d has failed: %s\nwant … %s", trial.Cell.Key(), trial.Round, trial.Reason, want)
			}
		}
	})

	t.Run("killed while agents see the nodes' processes", func(t *testing.T) {
		dir := t.TempDir()
		p := start(t, dir, foreignRun(config, "killed", append(faulty(9, "kubernetes:pod"), "--node-daemons")...)...)
		inMidTrial(t, p, filepath.Join(dir, "x.ndjson"), 0, kubelet, tunnel)
		const agent = "injected"                               // a word of their commands
		if agents := commands(t, "", agent); len(agents) < 7 { // those of a job, of two nodes, and of two pods of two networks
			t.Errorf("there are agents %v", agents)
		}
		p.signal(t, syscall.SIGKILL)
		<-p.done
		until(t, "all agents have ended, and what waited for them", func() bool {
			return len(commands(t, "", agent))+len(commands(t, "sleep", "60"))+len(commands(t, "sleep", "300")) == 0
		})
	})

	t.Run("two runs beside each other", func(t *testing.T) {
		var both []*started
		for range 2 { // their servers listen at ports of one node
			both = append(both, start(t, t.TempDir(), foreignRun(config, "open", "kubernetes:hostport", "--hosts", "1",
				"--workloads", "tcp_rr", "--placement", "free", "-t", "1s", "--warmup", "50ms", "--min-rounds", "2", "--max-rounds", "2", "--time-budget", "10m")...))
		}
		for _, p := range both {
			p.measures(t)
		}
		a.bare(t, "open")
	})

	t.Run("nothing is left of the jobs that ended before their runs", func(t *testing.T) {
		for _, namespace := range []string{"killed", "drained"} {
			// The cluster keeps a Job for 30 s after its end; its controllers take their time.
			for began := time.Now(); len(a.left(t, namespace)) > 0; time.Sleep(time.Second) {
				if time.Since(began) > patience {
					t.Fatalf("left: %v", a.left(t, namespace))
				}
			}
			a.bare(t, namespace)
		}
	})
}

// drain does what kubectl drain does with the node of the pod of nettoll's job in a namespace, or with another one that has pods
// there. It returns the node.
func (a admin) drain(t *testing.T, namespace string, ofJob bool) (node string) {
	t.Helper()
	var pods struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec struct{ NodeName string }
		}
	}
	at := "/api/v1/namespaces/" + namespace + "/pods"
	a.ask(t, http.MethodGet, at, nil, &pods)
	jobs := "" // the node of its pod
	for _, p := range pods.Items {
		if p.Metadata.Labels["job-name"] != "" {
			jobs = p.Spec.NodeName
		}
	}
	for _, p := range pods.Items {
		if (p.Spec.NodeName == jobs) == ofJob {
			node = p.Spec.NodeName
		}
	}
	if jobs == "" || node == "" {
		t.Fatalf("there are pods %+v", pods.Items)
	}
	a.cordon(t, node, true)
	for _, p := range pods.Items {
		if p.Spec.NodeName == node {
			a.ask(t, http.MethodPost, at+"/"+p.Metadata.Name+"/eviction", object{
				"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": p.Metadata.Name},
			}, nil)
		}
	}
	return node
}

// cordon keeps new pods from a node, or lets them be there again.
func (a admin) cordon(t *testing.T, node string, is bool) {
	t.Helper()
	a.ask(t, http.MethodPatch, "/api/v1/nodes/"+node, object{"spec": object{"unschedulable": is}}, nil)
}

// restart kills a program of the cluster, and starts it again with the same arguments. It ends with the cluster.
func restart(t *testing.T, program string) {
	t.Helper()
	pid, args := only(t, commands(t, program))
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	iferr.Fatal(t, err)
	log, err := os.Create(filepath.Join(os.Getenv(besideCluster), "log", program+"-again"))
	iferr.Fatal(t, err)
	defer log.Close()
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s logs: %s", program, oneline.Last(string(said), 10))
		}
	})
	iferr.Fatal(t, syscall.Kill(pid, syscall.SIGKILL))
	// Once the shell that started it has waited for it: a process has no command line any more while it still holds its port.
	until(t, program+" has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return errors.Is(err, fs.ErrNotExist)
	})
	again := exec.Command(args[0], args[1:]...)
	again.Dir, again.Stdout, again.Stderr = dir, log, log
	iferr.Fatal(t, again.Start())
	go func() { _ = again.Wait() }()
}

// relay is a proxy that knows nothing of what it carries.
type relay struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn // from clients
}

func relayTo(t *testing.T, address string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	iferr.Fatal(t, err)
	r := &relay{Listener: l}
	t.Cleanup(func() { l.Close(); r.cutAll() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns = append(r.conns, from)
			r.mu.Unlock()
			go func() {
				defer from.Close()
				to, err := net.Dial("tcp", address)
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(to, from); to.Close() }()
				_, _ = io.Copy(from, to)
			}()
		}
	}()
	return r
}

// cutLast cuts the connection that was made last, and cutAll all that have been made so far. Others can be made.
func (r *relay) cutLast() { r.cut(1) }

func (r *relay) cutAll() { r.cut(0) }

// cut cuts so many of the last connections; 0: all.
func (r *relay) cut(last int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last == 0 {
		last = len(r.conns)
	}
	for _, c := range r.conns[len(r.conns)-last:] {
		c.Close()
	}
}

// TestKubernetesFault kills the API server of a private cluster in mid-trial. The next round is measured on a new cluster. A network
// of the lab, which is in the same table as that of the cluster, goes on.
func TestKubernetesFault(t *testing.T) {
	requireCluster(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ndjson")
	was := before(t)
	p := start(t, dir, append([]string{"run", "--private-cluster", "-o", "x.ndjson"}, faulty(3, "kubernetes:pod", "routed", "--baseline", "routed")...)...)
	kubelet := 0
	late(t, p, "the cluster runs", func() bool {
		for _, pid := range descendants(p.Process.Pid) {
			if args := commands(t, "kubelet", "--hostname-override=h1")[pid]; args != nil {
				kubelet = pid
			}
		}
		return kubelet != 0 && packets(kubelet, "cni0") > 0
	})
	// On a busy machine this may take as long as a trial.
	made := namespacesOf(t)
	held := heldGroups(t)
	servers := commands(t, "kube-apiserver")
	for pid := range servers {
		if !slices.Contains(descendants(p.Process.Pid), pid) {
			delete(servers, pid)
		}
	}
	server, _ := only(t, servers)
	inMidTrial(t, p, path, 2, kubelet, "cni0")
	iferr.Fatal(t, syscall.Kill(server, syscall.SIGKILL))
	outlived(t, p, path, 6, map[int]string{2: "kube-apiserver on h1 ended (signal: killed)"})
	file := read(t, path)
	for _, trial := range file.Trials {
		if trial.Cell.Network == "routed" && trial.Status != record.OK {
			t.Errorf("routed in round %d: %s: %s", trial.Round, trial.Status, trial.Reason)
		}
	}
	oneTable(t, file, "kubernetes:pod", "routed")
	was.check(t, made)
	groupsGone(t, held)
}

// descendants returns a process's children, and theirs.
func descendants(pid int) (all []int) {
	for _, child := range childrenOf(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}
