package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/keeper"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/sampler"
	"nettoll/workload"
)

const moment = 100 * time.Millisecond

// tries is how often a trial is repeated if a busy machine may have given its client no CPU in its window, or read it late.
const tries = 10

// at is a port of this machine's lo.
func at(protocol string, port int) Port {
	return Port{protocol, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))}
}

// job is watched by the observer.
func job() (workload.Job, *observer) {
	o := &observer{}
	return workload.Job{Watch: workload.Watch{Open: func() { o.note("open") }, Close: func() { o.note("close") }}}, o
}

func server(t *testing.T, e *endpoint, protocol string) Server {
	t.Helper()
	n := machine.FreePort(t)
	return Server{Endpoint: e, Command: self(t, "listen", protocol, strconv.Itoa(n), "127.0.0.1"), Listen: []Port{at(protocol, n)}}
}

func TestRun(t *testing.T) {
	s, c := newEndpoint(t, "s"), newEndpoint(t, "c")
	tcp, udp, killed := server(t, s, "tcp"), server(t, s, "udp"), server(t, s, "tcp")
	killed.Ending = syscall.SIGKILL
	used := 0.0
	within := func() bool { return used > 0 && used <= 6*moment.Seconds() }
	for try := 0; try < tries && !within(); try++ {
		j, o := job()
		r, err := Run(t.Context(), j, Trial{
			Servers: []Server{tcp, udp, tcp, killed}, // one of them twice
			Clients: []Client{{Endpoint: c, Command: sh("echo first; sleep 0.3")}, {Endpoint: c, Command: self(t, "spin", "700ms")}},
			Lead:    moment, Window: 5 * moment, Tail: time.Minute,
		})
		iferr.Fatal(t, err)
		if len(r.Clients) != 2 || r.Clients[0] != (Output{Stdout: "first\n"}) || r.Clients[1] != (Output{}) {
			t.Errorf("clients said %+v", r.Clients)
		}
		if len(r.Servers) != 3 || r.Servers[0].Stdout != "goodbye\n" || r.Servers[1].Stdout != "goodbye\n" || r.Servers[2] != (Output{Status: -1}) {
			t.Errorf("servers said %+v", r.Servers)
		}
		if o.String() != "open close" {
			t.Errorf("the observer was told %q", o)
		}
		used = r.Client.Total()
	}
	if !within() {
		t.Errorf("the spinning client used %v s of a window of %v", used, 5*moment)
	}
	gone(t, "listen\x00tcp\x00"+tcp.Command.Args[2])
	gone(t, "listen\x00udp\x00"+udp.Command.Args[2])
}

func TestRunFails(t *testing.T) {
	taken, err := net.Listen("tcp", ":0")
	iferr.Fatal(t, err)
	defer taken.Close()
	inUse := taken.Addr().(*net.TCPAddr).Port
	for _, c := range []struct {
		name   string
		server Command
		port   int
		client Command
		want   string
	}{
		{"client fails", Command{}, 0, sh("echo out of coffee >&2; exit 3"), "client c: /bin/sh: out of coffee"},
		{"client fails on its output", Command{}, 0, sh("echo a; echo b; echo c; echo d; exit 3"), "client c: /bin/sh: b | c | d"},
		{"client fails silently", Command{}, 0, sh("exit 3"), "exit status 3, without any output"},
		{"client kills itself", Command{}, 0, sh("kill -9 $$"), "killed by signal: killed"},
		{"client prints too much", Command{}, 0, sh("head -c 5000000 /dev/zero"), "printed more than 4194304 bytes"},
		{"client is not there", Command{}, 0, Command{Path: "/nonexistent/client"}, "client c: start /nonexistent/client: "},
		{"client cannot run there", Command{}, 0, Command{Path: "/bin/true", CPUs: []int{9999}}, "client c: start /bin/true: pin to CPUs [9999]: invalid argument"},
		{"server ends", sh("echo no coffee; exit 1"), 1, sh("true"), "server s: /bin/sh: ended instead of listening on tcp port %d of 127.0.0.1: no coffee"},
		{"server is not there", Command{Path: "/nonexistent/server"}, 1, sh("true"), "server s: start /nonexistent/server: "},
		{"port in use", sh("sleep 60"), inUse, sh("true"), "server s: tcp port %d is in use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, o := job()
			trial := Trial{Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: c.client}}, Window: moment}
			if c.port == 1 {
				c.port = machine.FreePort(t)
			}
			if c.port != 0 {
				trial.Servers = []Server{{Endpoint: newEndpoint(t, "s"), Command: c.server, Listen: []Port{at("tcp", c.port)}}}
			}
			_, err := Run(t.Context(), j, trial)
			want := c.want
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, c.port)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v\ndoes not say %s", err, want)
			}
			if got := o.String(); got != "" && got != "open close" {
				t.Errorf("the observer was told %q", got)
			}
		})
	}
	if _, err := Run(t.Context(), workload.Job{}, Trial{}); err == nil {
		t.Error("a trial without clients")
	}
}

func TestExplain(t *testing.T) {
	trial := Trial{Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("echo '{error: tea}'; exit 1")}}, Window: moment}
	for _, c := range []struct{ finds, want string }{{"there is only tea", "there is only tea"}, {"", "{error: tea}"}} {
		trial.Explain = func(stdout string) string {
			if stdout != "{error: tea}\n" {
				t.Errorf("asked to explain %q", stdout)
			}
			return c.finds
		}
		if _, err := Run(t.Context(), workload.Job{}, trial); err == nil || !strings.HasSuffix(err.Error(), "/bin/sh: "+c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestFirstFailureEndsAll has a client that would run for long, with a child that ignores signals.
func TestFirstFailureEndsAll(t *testing.T) {
	s := server(t, newEndpoint(t, "s"), "tcp")
	_, err := Run(t.Context(), workload.Job{}, Trial{
		Servers: []Server{s},
		Clients: []Client{
			{Endpoint: newEndpoint(t, "a"), Command: sh("trap '' TERM INT; sleep 54321.5 & wait")},
			{Endpoint: newEndpoint(t, "b"), Command: sh("sleep 0.1; echo enough >&2; exit 1")},
		},
		Window: time.Hour,
	})
	if err == nil || !strings.Contains(err.Error(), "client b: /bin/sh: enough") {
		t.Errorf("error %v", err)
	}
	gone(t, "sleep\x0054321.5")
	gone(t, "listen\x00tcp\x00"+s.Command.Args[2])
}

func TestRunCancelled(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	j, o := job()
	note := j.Watch.Open
	j.Watch.Open = func() { note(); cancel(enough) }
	s := server(t, newEndpoint(t, "s"), "tcp")
	_, err := Run(ctx, j, Trial{
		Servers: []Server{s}, Window: time.Hour,
		Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("sleep 54321.6")}},
	})
	if !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
	if o.String() != "open close" {
		t.Errorf("the observer was told %q", o)
	}
	gone(t, "sleep\x0054321.6")
	gone(t, "listen\x00tcp\x00"+s.Command.Args[2])
}

// TestCancelledServer gives up when the server is ready and its answer is on its way.
func TestCancelledServer(t *testing.T) {
	e := newEndpoint(t, "s")
	ctx, cancel := context.WithCancel(t.Context())
	serve := e.handlers[methodServe]
	e.handlers[methodServe] = func(ctx context.Context, params json.RawMessage) (any, error) {
		result, err := serve(ctx, params)
		iferr.Error(t, err)
		cancel()
		<-ctx.Done()
		return result, err
	}
	s := server(t, e, "tcp")
	_, err := Run(ctx, workload.Job{}, Trial{
		Servers: []Server{s}, Window: time.Hour,
		Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("true")}},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	gone(t, "listen\x00tcp\x00"+s.Command.Args[2])
}

// TestServerKilled has a client that does not notice.
func TestServerKilled(t *testing.T) {
	s := server(t, newEndpoint(t, "s"), "tcp")
	j := workload.Job{Watch: workload.Watch{Open: func() {
		for _, pid := range machine.Processes(t, "listen\x00tcp\x00"+s.Command.Args[2]) {
			iferr.Error(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}}}
	_, err := Run(t.Context(), j, Trial{
		Servers: []Server{s}, Window: moment,
		Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("sleep 0.3")}},
	})
	if want := "server s: stop: " + s.Command.Path + ": killed by signal: killed"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestServerListensElsewhere has servers that listen on other addresses than requested. One of them
// cannot be restricted, and is held.
func TestServerListensElsewhere(t *testing.T) {
	n := machine.FreePort(t)
	run := func(p Place, where string) error {
		_, err := Run(t.Context(), workload.Job{}, Trial{
			Servers: []Server{{
				Endpoint: newEndpoint(t, "s"), Command: self(t, "listen", "tcp", strconv.Itoa(n), where),
				Place: p, Listen: []Port{at("tcp", n)},
			}},
			Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("true")}}, Window: moment,
		})
		return err
	}
	for where, is := range map[string]string{"0.0.0.0": "::", "127.0.0.2": "127.0.0.2"} { // an IPv6 socket also accepts IPv4
		want := fmt.Sprintf("listens on tcp port %d of %s instead of only on 127.0.0.1", n, is)
		if err := run(Place{}, where); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if err := keeper.CanHold(); err != nil {
		t.Skip(err)
	}
	iferr.Error(t, run(Place{Hold: []netip.Addr{at("tcp", n).At.Addr()}}, "0.0.0.0"))
}

// TestPortOfAnother checks that a port counts as free if it is in use only at another address.
func TestPortOfAnother(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	iferr.Fatal(t, err)
	defer l.Close()
	n := l.Addr().(*net.TCPAddr).Port
	_, err = Run(t.Context(), workload.Job{}, Trial{
		Servers: []Server{{Endpoint: newEndpoint(t, "s"), Command: self(t, "listen", "tcp", strconv.Itoa(n), "127.0.0.1"), Listen: []Port{at("tcp", n)}}},
		Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("true")}}, Window: moment,
	})
	iferr.Error(t, err)
}

// TestServerThatForks checks that a server ends with its trial, together with all its descendants,
// in sessions of their own or not.
func TestServerThatForks(t *testing.T) {
	s := server(t, newEndpoint(t, "s"), "tcp")
	script := fmt.Sprintf("(setsid sh -c 'trap \"\" TERM INT HUP; sleep 54321.9 & wait' &) & exec %s", s.Command)
	s.Command = sh(script)
	_, err := Run(t.Context(), workload.Job{}, Trial{
		Servers: []Server{s}, Clients: []Client{{Endpoint: newEndpoint(t, "c"), Command: sh("sleep 0.3")}}, Window: moment,
	})
	iferr.Error(t, err)
	gone(t, "sleep\x0054321.9")
}

// TestServersChildren has a server start a child for its client. The child has ended and been reaped
// before the window closes: proc_pid_stat(5) counts it in whole ticks.
func TestServersChildren(t *testing.T) {
	fifo := t.TempDir() + "/fifo"
	iferr.Fatal(t, syscall.Mkfifo(fifo, 0o600))
	s := server(t, newEndpoint(t, "s"), "tcp")
	s.Command.Args = append(s.Command.Args, fifo)
	s.Command.Env = []string{"GORACE=atexit_sleep_ms=0"} // a server that is slow to end would be killed
	c := newEndpoint(t, "c")
	got, used := 0.0, 0.0
	counted := func() bool { return got >= 0.9*used && got <= used+4./sampler.Ticks }
	// On a busy machine the child may run beside the window, or the window be much too long: then all times are longer.
	for slow := time.Duration(1); slow == 1 || slow <= 16 && !counted(); slow *= 4 {
		r, err := Run(t.Context(), workload.Job{}, Trial{
			Servers: []Server{s}, Lead: 2 * slow * moment, Window: 20 * slow * moment, Tail: time.Minute,
			Clients: []Client{{Endpoint: c, Command: sh(fmt.Sprintf("sleep %v; echo > %s; sleep %v",
				(4 * slow * moment).Seconds(), fifo, (20 * slow * moment).Seconds()))}},
		})
		iferr.Fatal(t, err)
		told, _, _ := strings.Cut(r.Servers[0].Stdout, "\n")
		used, err = strconv.ParseFloat(told, 64)
		iferr.Fatal(t, err)
		got = r.Server.Total()
	}
	if !counted() {
		t.Errorf("the server used %v s of CPU time, its child alone %v s", got, used)
	}
}

// TestPortsOnAllAddresses tests the ports of a server that cannot be held.
func TestPortsOnAllAddresses(t *testing.T) {
	ports := everywhere([]Port{at("tcp", 20001)})
	for where, want := range map[string]bool{"[::]:20001": true, "0.0.0.0:20001": true, "127.0.0.1:20001": false, "[::]:20002": false} {
		s := socket{Port: Port{"tcp", netip.MustParseAddrPort(where)}}
		if ports[0].is(s) != want || s.strays(ports) != (where == "127.0.0.1:20001") {
			t.Errorf("%s: %v, strays %v", where, ports[0].is(s), s.strays(ports))
		}
	}
}

// steps is a procedure of this test: it runs the given scripts, one after the other.
func steps(ctx context.Context, c *Course, scripts []string) (Output, error) {
	said := ""
	for _, script := range scripts {
		o, err := c.Run(ctx, sh(script))
		if err != nil {
			return o, err
		}
		said += o.Stdout
	}
	_, err := c.RunIn(ctx, sh("read word || true; echo $word >told; echo x >>given"), map[string]File{"given": {Text: "w"}}, func(dir string) error {
		b, err := os.ReadFile(dir + "/given")
		said += string(b)
		return err
	})
	return Output{Stdout: said}, err
}

func TestProcedure(t *testing.T) {
	e := newEndpoint(t, "c")
	e.handlers["steps"] = Procedure[[]string](steps).Handler()
	trial := func(limit time.Duration, scripts ...string) (Outcome, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return Run(ctx, workload.Job{}, Trial{
			Clients: []Client{{Endpoint: e, Command: sh(""), Procedure: "steps", Params: scripts}}, Window: 5 * moment, Tail: time.Minute,
		})
	}
	spin := self(t, "spin", "200ms").String()
	used := 0.0
	for try := 0; try < tries && (used <= 0 || used > 1); try++ {
		o, err := trial(time.Minute, "echo one", spin, "echo two; sleep 0.3")
		if err != nil || o.Clients[0].Stdout != "one\ntwo\nwx\n" {
			t.Fatalf("%+v, %v", o.Clients, err)
		}
		used = o.Client.Total()
	}
	if used <= 0 || used > 1 {
		t.Errorf("the client used %v s of CPU time", used)
	}
	if _, err := trial(time.Minute, "echo one", "echo no tea >&2; exit 1"); err == nil || !strings.Contains(err.Error(), "client c: /bin/sh: no tea") {
		t.Error(err)
	}
	if _, err := trial(5*moment, "sleep 54322.1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	gone(t, "sleep\x0054322.1")
}

func TestNotSynchronous(t *testing.T) {
	j := workload.Job{}
	first := time.Now()
	late := runResult{Started: first.Add(30 * time.Millisecond)}
	r := &running{}
	for window, want := range map[time.Duration]int{time.Second: 0, 200 * time.Millisecond: 1} {
		o := r.outcome(j, Trial{Window: window}, []runResult{{Started: first}, late}, nil)
		if len(o.Warnings) != want || want > 0 && o.Warnings[0].Code != "not-synchronous" {
			t.Errorf("starts 30 ms apart, window %v: %v", window, o.Warnings)
		}
	}
	away := runResult{Started: first.Add(time.Hour), Boot: "another machine, whose clock is ahead"}
	if o := r.outcome(j, Trial{Window: time.Second}, []runResult{{Started: first}, away}, nil); len(o.Warnings) > 0 {
		t.Errorf("the clocks of two machines are compared: %v", o.Warnings)
	}
}

// TestBuffers has a machine that grants no socket buffers of 1 GiB, and a program that asks for them.
func TestBuffers(t *testing.T) {
	e := newEndpoint(t, "c")
	for window, want := range map[int]int{0: 0, 8 << 10: 0, 1 << 30: 2} {
		j, _ := job()
		j.Options.Window = window
		o, err := Run(t.Context(), j, Trial{Clients: []Client{{Endpoint: e, Command: sh("true")}}, Window: time.Millisecond})
		if err != nil || len(o.Warnings) != want || want > 0 && o.Warnings[0].Code != "window-limited" {
			t.Errorf("%d bytes: %v, %v", window, o.Warnings, err)
		}
	}
	all := granted{Send: 212992, Receive: 300000}.warnings(300000)
	if len(all) != 1 || all[0].Text != "send buffer of 300000 bytes requested, 212992 granted: limited by net.core.wmem_max" {
		t.Errorf("%v", all)
	}
}

// TestLimit has a client that hangs.
func TestLimit(t *testing.T) {
	e := newEndpoint(t, "c")
	says := func(err error, what string) bool { return err != nil && strings.Contains(err.Error(), what) }
	var err error
	for limit := 2 * moment; limit < time.Minute && !says(err, "working"); limit *= 4 { // it may say nothing in a short time
		err = e.client.Call(t.Context(), methodRun, runParams{sh("echo working; sleep 54321.7"), window{}, limit, true}, new(runResult))
		if !says(err, "still running after") {
			t.Errorf("error %v", err)
		}
	}
	if !says(err, "working") {
		t.Errorf("error %v", err)
	}
	gone(t, "sleep\x0054321.7")
}

// TestLeftBehind has a program that ends by itself, and leaves another one in its process group.
func TestLeftBehind(t *testing.T) {
	k, err := launch(sh("sleep 54321.4 >/dev/null 2>&1 & echo left"))
	iferr.Fatal(t, err)
	<-k.done
	if k.output.Status != 0 || k.output.Stdout != "left\n" {
		t.Errorf("%+v", k.output)
	}
	gone(t, "sleep\x0054321.4")
}

// TestStop ends a program that ignores SIGTERM.
func TestStop(t *testing.T) {
	k, err := launch(sh("trap '' TERM; echo ready; while :; do sleep 54321.8; done"))
	iferr.Fatal(t, err)
	for k.out.String() != "ready\n" {
		time.Sleep(time.Millisecond)
	}
	iferr.Error(t, k.stop(syscall.SIGTERM))
	if k.output.Status != -1 || k.output.Stdout != "ready\n" {
		t.Errorf("%+v", k.output)
	}
	iferr.Error(t, k.stop(syscall.SIGTERM)) // again
	gone(t, "sleep\x0054321.8")
}

// TestProgramThatHangsInTheKernel stops servers and a client that SIGKILL does not end: whoever stops them does not wait for ever.
func TestProgramThatHangsInTheKernel(t *testing.T) {
	was := deathTime
	t.Cleanup(func() { deathTime = was })
	deathTime = 100 * time.Millisecond
	hung := func() *child { // it is never reaped, and so has not ended
		k := &child{cmd: exec.Command("sleep", "54321.6"), done: make(chan struct{})}
		k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		iferr.Fatal(t, k.cmd.Start())
		t.Cleanup(func() { _ = k.cmd.Wait() }) // it was killed
		return k
	}
	says := func(err error, k *child, first string) {
		t.Helper()
		want := fmt.Sprintf("%sprocess %d, or one that it has started, did not end within 100ms of being killed", first, k.cmd.Process.Pid)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	server := hung()
	h := &servers{all: map[int]*child{7: server}}
	_, err := h.stop(t.Context(), stopParams{Server: 7, Ending: syscall.SIGKILL})
	says(err, server, "")
	client := hung()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("still running after 5s"))
	c := &Course{}
	c.enter(client)
	_, err = c.finish(ctx, client, Command{Path: "x"})
	says(err, client, "x: still running after 5s; ")
}

// TestOutOfMemory has the kernel kill programs of a small control group: a client, and a server, which has a keeper.
func TestOutOfMemory(t *testing.T) {
	if !machine.Small(t) {
		return
	}
	const want = "killed by signal: killed by the kernel: out of memory (OOM)"
	e := newEndpoint(t, "e")
	_, err := Run(t.Context(), workload.Job{}, Trial{Clients: []Client{{Endpoint: e, Command: sh("exec tail /dev/zero")}}, Window: time.Second, Tail: time.Minute})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("client: %v, want %s", err, want)
	}
	k, err := keep(t.Context(), sh("exec tail /dev/zero"), Place{}, false, false)
	iferr.Fatal(t, err)
	<-k.done
	if got := k.output.Why(); got != want {
		t.Errorf("server: %s, want %s", got, want)
	}
}
