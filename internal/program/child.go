package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/cgroup"
	"nettoll/internal/keeper"
	"nettoll/internal/oneline"
	"nettoll/internal/wrap"
	"nettoll/record"
	"nettoll/sampler"
)

// Command is a program and how it is started.
type Command struct {
	Path  string // looked up in PATH by the agent when it has no slash
	Args  []string
	Env   []string // added to the agent's
	Stdin string   // /dev/stdin can be opened any number of times
	CPUs  []int    // where it may run; an empty list means any
	// Sent are files of the agent's machine that the program is loaded from if it was sent there: see keeper.Sent.
	Sent []string
}

// Place is the environment of a program, apart from its command line.
type Place struct {
	// Before are run to their ends before the program, one after the other, in its place. Their
	// output is used only if they fail.
	Before []Command
	// Files are placed in the program's working directory, which is in memory, private, and removed
	// with the program. Nil: it has none.
	Files map[string]File
	// Nobody: if the agent is root, the program runs as a user who owns nothing instead.
	Nobody bool
	// Hold are the addresses that its sockets are held to, for a server that cannot be restricted
	// to a listening address.
	Hold []netip.Addr
}

// File is the content of a file: a text, then zeros up to a size.
type File = keeper.File

func (c Command) String() string { return strings.Join(append([]string{c.Path}, c.Args...), " ") }

// Output is the output and exit status of a program.
type Output struct {
	Stdout string
	Stderr string
	Status int // exit status; -1: ended by a signal
}

// Why returns in one line why the program failed, in its own words if it printed any.
func (o Output) Why() string {
	for _, text := range []string{o.Stderr, o.Stdout} {
		if said := oneline.Last(text, 3); said != "" {
			return said
		}
	}
	return fmt.Sprintf("exit status %d, without any output", o.Status)
}

// maxOutput is how much of each output is kept, in bytes: a program that prints more is broken.
const maxOutput = 4 << 20

// child is a started program. All its descendants are in its process group, or belong to its
// keeper.
type child struct {
	cmd      *exec.Cmd    // the program, or its keeper
	kept     *keeper.Kept // nil: it has no keeper
	out, err limited
	starved  uint64        // cgroup.Starved before it was started
	sent     atomic.Uint64 // the signals that we have sent to it, one bit each
	path     string        // as in its command
	cpus     []int         // on which it was started; none: any
	thread   int           // that has started it, and has its CPUs as long as it lives
	done     chan struct{} // closed when it has ended
	output   Output
	broken   bool  // ended by a signal that we did not send, or after too much output
	last     usage // of its whole life, once it has ended
	observed readings
}

// launch starts a program that ends by itself.
func launch(c Command) (*child, error) {
	moreFiles()
	k := &child{done: make(chan struct{})}
	return k, k.launch(c)
}

func (k *child) launch(c Command) error {
	return k.begin(c, func() error {
		stdin, err := keeper.Memory("input", c.Stdin)
		if err != nil {
			return err
		}
		defer stdin.Close()
		path, args := c.Path, c.Args
		sent, closeSent, err := keeper.OpenSent(c.Sent)
		if err != nil {
			return err
		}
		defer closeSent()
		if len(sent) > 0 {
			path, args = keeper.Sent(len(sent), c.Args)
		}
		k.cmd = exec.Command(path, args...)
		k.cmd.ExtraFiles = keeper.Inherited(sent)
		k.cmd.Env = append(k.cmd.Environ(), append([]string{"LC_ALL=C"}, c.Env...)...)
		k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = stdin, &k.out, &k.err
		k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		k.cmd.WaitDelay = 5 * time.Second // for a descendant that holds an output open; what is unread then is lost
		return k.cmd.Start()
	})
}

// keep starts a program under a keeper, and returns when it has been started, after everything in
// Place.Before. bound means that all processes here end with nettoll anyway. If lingers is set, the
// keeper stays with its files until it is released.
func keep(ctx context.Context, c Command, p Place, bound, lingers bool) (*child, error) {
	k := &child{done: make(chan struct{})}
	s := keeper.Spec{
		Program: c.kept(), Before: record.Each(p.Before, Command.kept), Files: p.Files, Nobody: p.Nobody, Hold: p.Hold, Linger: lingers,
	}
	err := k.begin(c, func() (err error) {
		sent, closeSent, err := keeper.OpenSent(c.Sent)
		if err != nil {
			return err
		}
		defer closeSent()
		s.Sent = sent
		if k.kept, err = keeper.Start(s, &k.out, &k.err, bound); err == nil {
			k.cmd = k.kept.Cmd
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := k.kept.Ready(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, errors.Join(err, k.stop(syscall.SIGKILL)))
	}
	return k, nil
}

// kept returns the command in the form that a keeper takes.
func (c Command) kept() keeper.Program {
	return keeper.Program{Path: c.Path, Args: c.Args, Env: c.Env, Stdin: c.Stdin}
}

// begin starts a program from a thread that lives until the program ends: the program inherits the
// thread's CPUs, and would be killed if the thread ended.
func (k *child) begin(c Command, start func() error) error {
	started := make(chan error)
	k.starved = cgroup.Starved()
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := pin(c.CPUs)
		k.path, k.cpus, k.thread = c.Path, c.CPUs, unix.Gettid()
		if err == nil {
			err = start()
		}
		started <- err
		if err == nil {
			k.wait()
		}
	}()
	return wrap.Error(<-started, "start %s", c.Path)
}

// moreFiles lets the programs that this process starts open as many files as this process may: by
// default Go restores the limit that it began with.
var moreFiles = sync.OnceFunc(func() {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) // calling Setrlimit makes Go keep this limit
	}
})

// moved returns an error if the program was taken from its CPUs.
func (k *child) moved() error {
	stays := len(k.cpus) == 0 || sampler.StaysOn(k.thread, k.cpus...)
	select {
	case <-k.done: // and the number of its thread may be that of another
		return nil
	default:
	}
	if stays {
		return nil
	}
	return fmt.Errorf("%s ran on other CPUs than it was given for a part of the time: one of those may not be used any more, or is offline", k.path)
}

func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	set := unix.NewCPUSet(sampler.MostCPUs)
	for _, c := range cpus {
		set.Set(c)
	}
	return wrap.Error(unix.SchedSetaffinityDynamic(0, set), "pin to CPUs %v", cpus)
}

func (k *child) wait() {
	if k.kept != nil {
		_ = k.kept.Wait() // Status reports how it ended
	} else {
		_ = k.cmd.Wait() // the process state reports it
	}
	// Later, the number of its process group may be that of another one.
	_ = unix.Kill(-k.cmd.Process.Pid, unix.SIGKILL) // fails if the group is empty
	s := k.cmd.ProcessState
	status, signal, known := -1, syscall.Signal(0), false
	if k.kept != nil {
		status, signal, known = k.kept.Status() // the keeper may have been killed after reporting it
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && !known {
		if ws.Signaled() {
			signal = ws.Signal()
		} else if k.kept == nil {
			status = ws.ExitStatus()
		}
	}
	k.output = Output{Stdout: k.out.String(), Stderr: k.err.String(), Status: status}
	if k.out.over || k.err.over {
		k.broken = true
		k.output = Output{Stderr: fmt.Sprintf("printed more than %d bytes", maxOutput), Status: -1}
	}
	sent := k.sent.Load()
	if known {
		sent &^= 1 << syscall.SIGKILL // it ends the keeper, which reports nothing more after that
	}
	if signal != 0 && sent&(1<<signal) == 0 {
		k.broken = true
		k.output.Stderr = strings.TrimSpace(k.output.Stderr + "\nkilled by signal: " + signal.String())
		if signal == syscall.SIGKILL && cgroup.Starved() > k.starved {
			k.output.Stderr += cgroup.ByKernel
		}
	}
	if r, ok := s.SysUsage().(*syscall.Rusage); ok {
		k.last = usage{user: time.Duration(r.Utime.Nano()).Seconds(), system: time.Duration(r.Stime.Nano()).Seconds()}
	}
	close(k.done)
}

// patience is how long a program may take to end when asked to. On a busy machine it may get no CPU for seconds, and then
// prints its results. With keeperTime it is less than the agent may take to end (agent.Client.Close).
const patience = 8 * time.Second

// keeperTime is how long a keeper without namespaces may take to end its descendants one by one and
// to remove their files. Killing it earlier would leave them.
const keeperTime = 6 * time.Second

// deathTime is how long killed processes may take to end: freeing their last resources can take seconds. It is less than
// listenTime leaves after patience and keeperTime, so that the trial learns of it. Tests change it.
var deathTime = 30 * time.Second

// stop ends the program and all that it has started, and returns when they have ended, or that they have not: then they hang in the
// kernel, and nothing is known of how the program ended. On SIGINT or SIGTERM, programs print the results they have.
func (k *child) stop(sig syscall.Signal) error {
	select {
	case <-k.done:
		return nil
	default:
	}
	if sig != syscall.SIGKILL {
		k.sent.Or(1 << sig)
		_ = unix.Kill(k.cmd.Process.Pid, sig) // fails if it has just ended
		select {
		case <-k.done:
			return nil
		case <-time.After(patience):
		}
	}
	k.sent.Or(1 << syscall.SIGKILL)
	if k.kept != nil {
		k.kept.Kill()
		select {
		case <-k.done:
			return nil
		case <-time.After(keeperTime):
		}
	}
	_ = unix.Kill(-k.cmd.Process.Pid, unix.SIGKILL) // fails if the group is empty
	select {
	case <-k.done:
		return nil
	case <-time.After(deathTime):
		return fmt.Errorf("process %d, or one that it has started, did not end within %v of being killed", k.cmd.Process.Pid, deathTime)
	}
}

// await returns when the program has ended, or stops it when ctx ends.
func (k *child) await(ctx context.Context) error {
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		if err := k.stop(syscall.SIGKILL); err != nil {
			return fmt.Errorf("%w; %w", context.Cause(ctx), err)
		}
		return context.Cause(ctx)
	}
}

// limited keeps the beginning of the data written to it.
type limited struct {
	most int    // bytes; 0 means maxOutput
	full func() // unless nil, it is called when there are more

	mu   sync.Mutex
	b    []byte
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := cmp.Or(l.most, maxOutput) - len(l.b)
	l.over = l.over || len(b) > room
	if l.over && l.full != nil {
		l.full()
	}
	l.b = append(l.b, b[:min(len(b), room)]...)
	return len(b), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// usage is CPU time in seconds.
type usage struct {
	user, system float64
	reaped       uint64 // increases with each descendant that its parent has reaped
}

func (u usage) total() float64 { return u.user + u.system }

// used returns the CPU time of the program and all its descendants so far. The clock of each
// process is exact; its split into user and system is sampled by ticks. Children that have ended
// count through the parent that reaped them, in whole ticks: unseen bounds the CPU time that this
// omits.
func (k *child) used() usage {
	const tries = 5
	for try := 1; ; try++ {
		select {
		case <-k.done:
			return k.last
		default:
		}
		family := k.family()
		sum, alive := k.sum(family)
		if !alive { // it has ended meanwhile; WaitDelay bounds how long until that is known
			<-k.done
			return k.last
		}
		// A child that was reaped after its parent was read would not be counted at all.
		if slices.Equal(family, k.family()) || try == tries {
			return sum
		}
	}
}

// sum returns the CPU time of processes, and whether the program itself is among them.
func (k *child) sum(family []int) (sum usage, alive bool) {
	for _, pid := range family {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue // ended meanwhile
		}
		st, err := p.Stat()
		if err != nil {
			continue
		}
		exact, there := sampler.CPUTime(pid)
		alive = alive || pid == k.cmd.Process.Pid && there && st.State != "Z" && st.State != "X"
		user, system := float64(st.UTime)/sampler.Ticks, float64(st.STime)/sampler.Ticks
		if sampled := user + system; exact > 0 && sampled > 0 {
			user, system = exact*user/sampled, exact*system/sampled
		} else if exact > 0 {
			system = exact
		}
		sum.user += user + float64(st.CUTime)/sampler.Ticks
		sum.system += system + float64(st.CSTime)/sampler.Ticks
		sum.reaped += uint64(st.CMinFlt) // minor page faults: every process has some
	}
	return sum, alive
}

// unseen returns the CPU time in seconds since an earlier reading that a reading omits: if a child
// was reaped in between, less than a tick in user and less than a tick in system mode. It is also
// bounded by the program's CPU time over its whole life, which is known exactly.
func unseen(from, to, life usage) float64 {
	if from.reaped == to.reaped {
		return 0
	}
	return min(max(0, life.total()-to.total()), 2./sampler.Ticks)
}

func (k *child) over() <-chan struct{} { return k.done }

// family returns the program and all its descendants.
func (k *child) family() []int { return keeper.Family(k.cmd.Process.Pid) }
