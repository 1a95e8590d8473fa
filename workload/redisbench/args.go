package redisbench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/workload"
)

const (
	// defaultValue is the size of the value that is read, in bytes: redis-benchmark's own.
	defaultValue = 3
	// search is how long a client looks for its rate, at least.
	search = 300 * time.Millisecond
	// firstTry is how many requests each stream makes to begin with, so that they end
	// soon on slow networks, too.
	firstTry = 50
)

// request stores the value and says its size. Then it reads it, about 100 ms at a
// time, until the time before the window is over; says how often it will now, which
// is as often as lasts a tenth longer than the window, and does so until the window
// is over.
//
//go:embed request.sh
var request string

// valueSize is the size of the value that is read, in bytes.
func valueSize(job workload.Job) int {
	if n := job.Options.ResponseSize; n > 0 {
		return n
	}
	return defaultValue
}

// server is the server of a pair and of all others with the same one. It keeps
// nothing on the disk, and lets everybody in who reaches it.
func server(path string, job workload.Job, pair int) program.Command {
	p, flows, before := job.Pairs[pair], 0, map[any]bool{}
	for i, other := range job.Pairs {
		if other.Server == p.Server && other.Port == p.Port {
			flows += max(job.Options.Streams, 1)
		} else if i < pair {
			before[other.Server] = true
		}
	}
	return program.Command{
		Path: path,
		Args: []string{
			"--port", strconv.Itoa(p.Port), "--bind", "*", "-::*", "--protected-mode", "no",
			"--save", "", "--appendonly", "no", "--daemonize", "no", "--databases", "1",
			"--maxclients", strconv.Itoa(flows + 100), "--loglevel", "warning", "--logfile", "",
		},
		CPUs: program.CPUs(job.CPUs.Server, len(before), flows),
	}
}

// client is what a pair's client runs, with the time before the window and the
// window's length.
func client(p programs, job workload.Job, pair int, lead, window time.Duration) program.Command {
	to, streams := job.Pairs[pair], max(job.Options.Streams, 1)
	args := []string{"-c", request, "sh", p.cli, p.bench, to.Addr.String()}
	for _, v := range []int{to.Port, valueSize(job), streams, firstTry * streams, int(lead.Milliseconds()), int(window.Milliseconds())} {
		args = append(args, strconv.Itoa(v))
	}
	return program.Command{Path: "sh", Args: args, CPUs: program.CPUs(job.CPUs.Client, pair, streams)}
}

// version finds the version in what a program says: "redis-benchmark 7.0.15",
// "Redis server v=7.0.15 sha=…".
func version(said, path string) (string, error) {
	for _, field := range strings.Fields(said) {
		v := strings.TrimPrefix(field, "v=")
		if major, rest, ok := strings.Cut(v, "."); ok && rest != "" {
			if _, err := strconv.ParseUint(major, 10, 16); err == nil {
				return v, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no version in %q", path, said)
}
