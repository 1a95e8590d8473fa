package wrk

import (
	_ "embed"
	"fmt"
	"net"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/workload"
)

const (
	// defaultBody is the size of a response's body in bytes.
	defaultBody = 1 << 10
	// timeout is after how many seconds wrk counts a response as missing.
	timeout = 10
)

// done makes wrk print exact figures.
//
//go:embed done.lua
var done string

// Both programs want files. They get them on their standard input, and keep them in
// a file system in memory that nobody else sees and that goes with the last process
// that does: nothing is left, however a trial ends.
var (
	//go:embed serve.sh
	serve string
	//go:embed request.sh
	request string
)

// privately is a command that runs a script with mounts of its own.
func privately(script string, args ...string) program.Command {
	return program.Command{Path: "unshare", Args: append([]string{"--mount", "sh", "-c", script, "sh"}, args...)}
}

// bodySize is the size of a response's body in bytes.
func bodySize(job workload.Job) int {
	if n := job.Options.ResponseSize; n > 0 {
		return n
	}
	return defaultBody
}

// serverOf is the web server of a pair and of all others with the same server.
func serverOf(nginx string, job workload.Job, pair int) program.Command {
	p, flows, before := job.Pairs[pair], 0, map[any]bool{}
	six := false
	for i, other := range job.Pairs {
		if other.Server == p.Server && other.Port == p.Port {
			flows += max(job.Options.Streams, 1)
			six = six || other.Addr.Is6()
		} else if i < pair {
			before[other.Server] = true
		}
	}
	c := privately(serve, nginx, strconv.Itoa(bodySize(job)))
	c.CPUs = program.CPUs(job.CPUs.Server, len(before), flows)
	c.Stdin = config(p.Port, len(c.CPUs), flows, six)
	return c
}

// config is nginx's configuration. A worker more than its CPU would only be
// switched to; with no CPUs to say how many, nginx takes one for each there is.
func config(port, workers, flows int, six bool) string {
	count, listen := "auto", fmt.Sprintf("listen %d;", port)
	if workers > 0 {
		count = strconv.Itoa(workers)
	}
	if six { // where a kernel has no IPv6, this would be an error
		listen += fmt.Sprintf(" listen [::]:%d ipv6only=on;", port)
	}
	return fmt.Sprintf(`daemon off;
user root;
pid nginx.pid;
error_log stderr;
worker_processes %s;
events { worker_connections %d; }
http {
  access_log off;
  log_not_found off;
  default_type application/octet-stream;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  server { %s root .; }
}
`, count, 2*flows+1024, listen)
}

// client is wrk for a pair.
func client(wrk string, job workload.Job, pair int) program.Command {
	p, streams := job.Pairs[pair], max(job.Options.Streams, 1)
	cpus := program.CPUs(job.CPUs.Client, pair, streams)
	lead, window := program.Window(job)
	warmup := 0
	if lead > 0 {
		warmup = program.WholeSeconds(lead)
	}
	args := []string{
		wrk, strconv.Itoa(warmup), strconv.Itoa(program.WholeSeconds(window)),
		"-t", strconv.Itoa(threads(streams, len(cpus))), "-c", strconv.Itoa(streams),
		"--timeout", strconv.Itoa(timeout) + "s",
	}
	if job.Options.NoKeepAlive {
		args = append(args, "-H", "Connection: close")
	}
	url := "http://" + net.JoinHostPort(p.Addr.String(), strconv.Itoa(p.Port)) + "/body"
	c := privately(request, append(args, url)...)
	c.Stdin, c.CPUs = done, cpus
	return c
}

// threads is how many threads wrk gets: one for each CPU that it may use, but no more
// than connections, and so many that each has equally many, since wrk leaves out
// what remains.
func threads(connections, cpus int) int {
	for t := min(connections, cpus); t > 1; t-- {
		if connections%t == 0 {
			return t
		}
	}
	return 1
}

// version finds the version in what a program says, after a mark such as "wrk".
func version(said, mark string) (string, error) {
	for _, field := range strings.Fields(said) {
		_, v, ok := strings.Cut(field, "/")
		if !ok {
			v = field
		}
		v, _, _ = strings.Cut(v, "-")
		if a, b, ok := strings.Cut(v, "."); ok && isNumber(a) && b != "" && b[0] >= '0' && b[0] <= '9' {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s: no version in %q", mark, said)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}
