package platformtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/sampler"
)

// processes checks the guarantees about processes, on a host and in a container.
func processes(t *testing.T, p platform.Platform) {
	h := hosts(t, p, 1).All()[0]
	for where, fresh := range map[string]func(*testing.T) platform.Endpoint{
		"host":      func(*testing.T) platform.Endpoint { return h },
		"container": func(t *testing.T) platform.Endpoint { return container(t, h) },
	} {
		t.Run(where, func(t *testing.T) {
			e := fresh(t)
			t.Run("pipes", func(t *testing.T) { pipes(t, e) })
			t.Run("own streams", func(t *testing.T) { ownStreams(t, e) })
			t.Run("exit status", func(t *testing.T) { exitStatus(t, e) })
			t.Run("environment", func(t *testing.T) { environment(t, e) })
			t.Run("not started", func(t *testing.T) { notStarted(t, e) })
			t.Run("agent", func(t *testing.T) { speaksAsAgent(t, e) })
			t.Run("kill", func(t *testing.T) { kill(t, fresh) })
		})
	}
}

func container(t *testing.T, h platform.Host) platform.Endpoint {
	t.Helper()
	all, err := h.Containers(t.Context(), 1)
	iferr.Fatal(t, err)
	return all[0]
}

func start(t *testing.T, e platform.Endpoint, c platform.Command) platform.Process {
	t.Helper()
	proc, err := e.Start(t.Context(), c)
	iferr.Fatal(t, err)
	t.Cleanup(func() {
		killed := make(chan error, 1)
		go func() { killed <- proc.Kill() }()
		select {
		case <-killed:
		case <-time.After(patience):
			t.Errorf("%s has not ended within %v of its being killed", c.Path, patience)
		}
	})
	return proc
}

func shell(script string) platform.Command {
	return platform.Command{Path: "sh", Args: []string{"-c", script}}
}

// output returns the standard output of a program, without surrounding space.
func output(t *testing.T, e platform.Endpoint, path string, args ...string) string {
	t.Helper()
	proc := start(t, e, platform.Command{Path: path, Args: args})
	b, err := io.ReadAll(proc.Stdout())
	iferr.Fatal(t, errors.Join(err, proc.Wait()))
	return strings.TrimSpace(string(b))
}

// ended waits for a process that nobody reads from.
func ended(t *testing.T, proc platform.Process) error {
	t.Helper()
	how := make(chan error, 1)
	go func() { how <- proc.Wait() }()
	select {
	case err := <-how:
		return err
	case <-time.After(patience):
		t.Fatalf("the process has not ended within %v", patience)
		return nil
	}
}

// namespace identifies the network namespace of processes of the endpoint.
func namespace(t *testing.T, e platform.Endpoint) string {
	t.Helper()
	return output(t, e, "readlink", "/proc/self/ns/net")
}

func pipes(t *testing.T, e platform.Endpoint) {
	proc := start(t, e, platform.Command{Path: "cat"})
	const said = "what goes in\ncomes out"
	if _, err := io.WriteString(proc.Stdin(), said); err != nil {
		t.Fatal(err)
	}
	iferr.Fatal(t, proc.Stdin().Close())
	b, err := io.ReadAll(proc.Stdout())
	if err := errors.Join(err, proc.Wait(), proc.Wait()); err != nil || string(b) != said {
		t.Errorf("got %q, %v, want %q", b, err, said)
	}
	// Output from before the end can be read after it.
	proc = start(t, e, shell("head -c 60000 /dev/zero"))
	iferr.Fatal(t, ended(t, proc))
	if b, err := io.ReadAll(proc.Stdout()); err != nil || len(b) != 60000 {
		t.Errorf("%d bytes were left to be read, want 60000: %v", len(b), err)
	}
}

func ownStreams(t *testing.T, e platform.Endpoint) {
	var out, errs bytes.Buffer
	proc := start(t, e, platform.Command{
		Path: "sh", Args: []string{"-c", "cat; echo oh >&2"},
		Stdin: strings.NewReader("given"), Stdout: &out, Stderr: &errs,
	})
	if proc.Stdin() != nil || proc.Stdout() != nil {
		t.Errorf("pipes %v and %v, where the command brought its own streams", proc.Stdin(), proc.Stdout())
	}
	if err := proc.Wait(); err != nil || out.String() != "given" || errs.String() != "oh\n" {
		t.Errorf("%v, output %q, errors %q", err, out.String(), errs.String())
	}
}

func exitStatus(t *testing.T, e platform.Endpoint) {
	proc := start(t, e, shell("echo first >&2; echo last words >&2; exit 3"))
	err := proc.Wait()
	if err == nil || !strings.Contains(err.Error(), "3") || !strings.Contains(err.Error(), "last words") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v, want one line with the status 3 and the last words", err)
	}
	if again := proc.Wait(); again != err {
		t.Errorf("the second time: %v", again)
	}
	if got := proc.Stderr(); !strings.Contains(got, "last words") {
		t.Errorf("standard error is %q", got)
	}
	if err := proc.Kill(); err != nil {
		t.Errorf("kill one that has ended: %v", err)
	}
	// Of long output, the end is kept.
	proc = start(t, e, shell("head -c 300000 /dev/zero | tr '\\0' x >&2; echo last words >&2"))
	iferr.Error(t, proc.Wait())
	if got := proc.Stderr(); len(got) > 1<<16 || !strings.HasSuffix(got, "last words") {
		t.Errorf("kept %d bytes that end with %q", len(got), got[max(0, len(got)-20):])
	}
}

func environment(t *testing.T, e platform.Endpoint) {
	var out bytes.Buffer
	c := shell(`echo "$NETTOLL_TEST_WORD|$PATH"`)
	c.Stdout, c.Env = &out, []string{"NETTOLL_TEST_WORD=two words"}
	iferr.Fatal(t, start(t, e, c).Wait())
	word, path, _ := strings.Cut(strings.TrimSpace(out.String()), "|")
	if word != "two words" || path == "" {
		t.Errorf("the environment has %q and PATH %q, want two words, and the platform's PATH", word, path)
	}
}

// kill kills processes that would never end, with the processes they have started. Each has an endpoint of its own:
// some platforms end all processes of a container with one of them.
func kill(t *testing.T, fresh func(*testing.T) platform.Endpoint) {
	for _, script := range []string{
		"echo ready; exec sleep 1000",
		"sleep 1000 & echo ready; wait",
		"trap '' TERM INT HUP; echo ready; sleep 1000; sleep 1000",
	} {
		if rest := killed(t, fresh(t), script); rest != "" {
			t.Errorf("%s: after the end: %q", script, rest)
		}
	}
	// This one ends, but leaves a child behind. Platforms wait for its output for two seconds: if a busy machine kills it
	// later, the child is nobody's any more.
	const leaves = "(sleep 40; echo late) & echo ready"
	rest := killed(t, fresh(t), leaves)
	for tries := 1; rest != "" && tries < 3; tries++ {
		rest = killed(t, fresh(t), leaves)
	}
	if rest != "" {
		t.Errorf("%s: the child was not killed", leaves)
	}
}

// killed kills a process once it is ready, and returns what it, or one that it has started, writes after that.
func killed(t *testing.T, e platform.Endpoint, script string) (rest string) {
	t.Helper()
	proc := start(t, e, shell(script))
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(proc.Stdout(), ready); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	for range 2 {
		if err := proc.Kill(); err != nil {
			t.Errorf("%s: kill: %v", script, err)
		}
	}
	if strings.Contains(script, "exec") && proc.Wait() == nil {
		t.Errorf("%s: it ended well", script)
	}
	b, err := io.ReadAll(proc.Stdout())
	if err != nil {
		t.Errorf("%s: after the end: %v", script, err)
	}
	return string(b)
}

// notStarted expects an error for a program that cannot be started, if not at once then from Wait: an engine learns
// it only when the process has ended.
func notStarted(t *testing.T, e platform.Endpoint) {
	const missing = "no-program-has-this-name"
	proc, err := e.Start(t.Context(), platform.Command{Path: missing})
	if err == nil {
		err = ended(t, proc)
	} else if !strings.Contains(err.Error(), e.Name()) {
		t.Errorf("%v does not name %s", err, e.Name())
	}
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), missing) {
		t.Errorf("error is %v, want one line that names %s", err, missing)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Start(ctx, platform.Command{Path: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
}

// speaksAsAgent starts the platform's copy of this program.
func speaksAsAgent(t *testing.T, e platform.Endpoint) {
	c, err := agent.Start(t.Context(), e)
	iferr.Fatal(t, err)
	defer c.Close()
	var counters map[string]uint64
	iferr.Fatal(t, c.Call(t.Context(), sampler.MethodCounters, nil, &counters))
	if counters["TcpRtoMax"] == 0 { // a constant; counters that are 0 are left out
		t.Errorf("the agent has no counters of TCP: %v", counters)
	}
	iferr.Error(t, c.Close())
}
