package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/scratch"
	"nettoll/platform/platformtest"
)

// tiny is a short run of one round that is still long enough for a busy machine.
var tiny = []string{
	"run", "bridge", "--hosts", "1", "--workloads", "tcp_stream", "--placement", "free",
	"-t", "50ms", "--warmup", "50ms", "--min-rounds", "1", "--max-rounds", "1",
}

// work is a folder that every user can enter; work/bin has nettoll and nettoll-agent, built as make does: nettoll starts
// copies of itself in a lab, and sends the agent, which is much smaller, elsewhere. Temporary files are in it, too: it is
// removed even if this program is killed.
var work string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(inCluster) != "" || os.Getenv(besideCluster) != "" { // a child of a test that has built nettoll
		return m.Run()
	}
	dir, remove, err := scratch.Dir("nettoll-tests-cmd")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	work = dir
	bin, temporary := filepath.Join(work, "bin"), filepath.Join(work, "tmp")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-tags", "source_tests", "-o", bin, ".", "../nettoll-agent") // of the same source: see rootfs.Agent
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	err = errors.Join(os.Chmod(work, 0o755), os.Mkdir(bin, 0o755), build.Run(),
		os.Mkdir(temporary, 0o755), os.Chmod(temporary, 0o777|os.ModeSticky), os.Setenv("TMPDIR", temporary),
		os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH")))
	if err != nil {
		fmt.Fprintln(os.Stderr, "build nettoll:", err)
		return 1
	}
	return m.Run()
}

// TestScript runs the scripts in parallel: most of their time they wait.
func TestScript(t *testing.T) {
	root, err := os.MkdirTemp(work, "script-")
	if err == nil {
		err = os.Chmod(root, 0o755)
	}
	iferr.Fatal(t, err)
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: root,
		Setup: func(e *testscript.Env) error {
			return os.Chmod(e.WorkDir, 0o755)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			if option, ok := strings.CutPrefix(cond, "kernel:"); ok {
				return platformtest.KernelHas(t, option), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"nettoll": works, "exits": exits, "refuses": refuses, "tiny": tinyRun,
		},
	})
}

// works runs nettoll with its arguments and expects status 0.
func works(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("use exits or refuses to say how it fails")
	}
	exits(ts, false, append([]string{"0", "nettoll"}, args...))
}

// exits STATUS COMMAND [ARG...] expects exactly that status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d; it said:\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

var oneError = regexp.MustCompile(`\Anettoll: [^\n]+\n\z`)

// foreign matches wording of libraries, and names of files that the user did not give.
var foreign = regexp.MustCompile(`strconv|ParseInt|invalid argument|invalid syntax|invalid character|unknown shorthand|missing unit|` +
	`needs an argument|flags in the group|key=value|\bstat |\.nettoll-|goroutine|panic`)

// refuses [ARG...] expects nettoll to refuse the arguments as a mistake: status 2, one line on standard error, and
// nothing on standard output.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: refuses [argument...]")
	}
	exits(ts, false, append([]string{"2", "nettoll"}, args...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is not empty: %s", out)
	}
	text := ts.ReadFile("stderr")
	if !oneError.MatchString(text) {
		ts.Fatalf("not one line of nettoll's: %q", text)
	}
	if words := foreign.FindString(text); words != "" {
		ts.Fatalf("%q is no word of nettoll's: %s", words, text)
	}
}

// tinyRun FILE [FLAG...] runs a short measurement and expects it to succeed.
func tinyRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tiny file [flag...]")
	}
	flags := tiny
	if slices.Contains(args, tiny[len(tiny)-2]) { // other rounds than its own
		flags = tiny[:len(tiny)-2]
	}
	exits(ts, false, slices.Concat([]string{"0", "nettoll"}, flags, []string{"-o"}, args))
}
