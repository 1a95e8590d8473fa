// Package wrk drives the web server nginx with wrk (https://github.com/wg/wrk),
// which asks for one file again and again. Both are the distribution's: this is a
// real application, on a real file, with the settings of a server that is meant to be
// fast.
//
// Each client is a wrk of its own with as many connections as there are streams, one
// if nothing is said, each with one request at a time: a closed loop, in which a
// server that stalls is not asked meanwhile and its stall counts as one late response.
// wrk 4 makes up for this by adding latencies that it has not measured. That is taken
// out again, so that a latency is what a request took, as it is for the other tools.
// Where each request has a connection of its own, wrk's latencies are without making
// it, and left out.
//
// wrk runs for about 100 ms longer than it is told to, and has no warm-up: for one, it
// is run twice. It cannot tell its connections apart, so that a client is one flow.
// Payload is the bodies of responses.
package wrk

import (
	"cmp"
	_ "embed"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// saysVersion takes "wrk debian/4.1.0-3+b2 [epoll]" and "nginx version: nginx/1.22.1".
var saysVersion = regexp.MustCompile(`(?:^|\s)(?:[^\s/]*/)?(\d+\.\d[^\s-]*)`)

// Tool is wrk with the server nginx. Those who do not have the programs of administrators in
// their PATH have nginx all the same.
var Tool = program.Tool{
	Name: "wrk",
	Programs: []program.Program{
		{Name: "wrk", Package: "wrk", Flag: "-v", Says: saysVersion},
		{Name: "nginx", Package: "nginx-light", Else: "/usr/sbin/nginx", Flag: "-v", Says: saysVersion},
	},
	Drives: []workload.Drive{{Workload: record.HTTP, Options: []string{"streams", "response-size", "no-keep-alive"}}},
	Serves: program.Endpoint,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Each(parse, together),
}

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
func bodySize(job workload.Job) int { return cmp.Or(job.Options.ResponseSize, defaultBody) }

// lateness is by how much a window begins later for the warm-up in front of it.
const lateness = 100 * time.Millisecond

func times(_ workload.Job, t *program.Trial) error {
	if t.Lead > 0 {
		t.Lead += lateness
	}
	return nil
}

// server is nginx with its files in memory.
func server(p program.Pair) program.Server {
	return program.Server{
		Command: program.Command{Args: []string{"-p", "./", "-e", "stderr", "-c", "nginx.conf"}},
		Place: program.Place{Nobody: true, Files: map[string]program.File{
			"nginx.conf": {Text: config(p.Ports("tcp"), len(p.ServerCPUs), p.Flows)}, "body": {Size: bodySize(p.Job)},
		}},
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

func client(p program.Pair) program.Client {
	lead, window := program.Window(p.Job)
	args := []string{
		"-t", strconv.Itoa(threads(p.Streams, len(p.ClientCPUs))), "-c", strconv.Itoa(p.Streams),
		"--timeout", strconv.Itoa(timeout) + "s",
	}
	if p.Job.Options.NoKeepAlive {
		args = append(args, "-H", "Connection: close")
	}
	url := "http://" + net.JoinHostPort(p.Addr.String(), strconv.Itoa(p.Port)) + "/body"
	return program.Client{
		Command:   program.Command{Args: append(args, url)},
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
