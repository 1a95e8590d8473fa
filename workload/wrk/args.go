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

// bodySize is the size of a response's body in bytes.
func bodySize(job workload.Job) int {
	if n := job.Options.ResponseSize; n > 0 {
		return n
	}
	return defaultBody
}

// serverOf is the web server of a pair and of all others with the same server. Its files
// are in memory.
func serverOf(nginx string, job workload.Job, pair int) program.Server {
	p, shared := job.Pairs[pair], program.SharedBy(job, pair)
	cpus := program.CPUs(job.CPUs.Server, shared.Order, shared.Flows)
	ports := program.Ports("tcp", shared.Listen, p.Port)
	return program.Server{
		Endpoint: p.Server,
		Command:  program.Command{Path: nginx, Args: []string{"-p", "./", "-e", "stderr", "-c", "nginx.conf"}, CPUs: cpus},
		Place: program.Place{Nobody: true, Files: map[string]program.File{
			"nginx.conf": {Text: config(ports, len(cpus), shared.Flows)}, "body": {Size: bodySize(job)},
		}},
		Listen: ports,
	}
}

// config is nginx's configuration. A worker more than its CPU would only be
// switched to; with no CPUs to say how many, nginx takes one for each there is.
func config(ports []program.Port, workers, flows int) string {
	count, listen := "auto", ""
	if workers > 0 {
		count = strconv.Itoa(workers)
	}
	for _, p := range ports {
		listen += fmt.Sprintf("listen %v; ", p.At)
	}
	return fmt.Sprintf(`daemon off;
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
  server { %sroot .; }
}
`, count, 2*flows+1024, listen)
}

// client is wrk for a pair.
func client(wrk string, job workload.Job, pair int) program.Client {
	p, streams := job.Pairs[pair], max(job.Options.Streams, 1)
	cpus := program.CPUs(job.CPUs.Client, pair, streams)
	lead, window := program.Window(job)
	args := []string{
		"-t", strconv.Itoa(threads(streams, len(cpus))), "-c", strconv.Itoa(streams),
		"--timeout", strconv.Itoa(timeout) + "s",
	}
	if job.Options.NoKeepAlive {
		args = append(args, "-H", "Connection: close")
	}
	url := "http://" + net.JoinHostPort(p.Addr.String(), strconv.Itoa(p.Port)) + "/body"
	return program.Client{
		Endpoint: p.Client, Command: program.Command{Path: wrk, Args: append(args, url), CPUs: cpus},
		Procedure: procedure, Params: request{Warmup: lead, Window: window},
	}
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
