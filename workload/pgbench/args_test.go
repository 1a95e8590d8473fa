package pgbench

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/nl"
	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

type endpoint struct {
	platform.Endpoint
	name string
}

func (e *endpoint) Name() string { return e.name }

func pair(server platform.Endpoint, addr string) workload.Pair {
	a := netip.MustParseAddr(addr)
	return workload.Pair{Client: &endpoint{name: "c"}, Server: server, Addr: a, Listen: a.Next(), Port: 5201}
}

func TestClient(t *testing.T) {
	s := &endpoint{}
	for _, c := range []struct {
		name string
		job  workload.Job
		want string
		lead time.Duration
	}{
		{"plain", workload.Job{Duration: time.Second, Pairs: []workload.Pair{pair(s, "198.18.0.1")}},
			"/bin/pgbench -h 198.18.0.1 -p 5201 -U postgres -n -S -M prepared -c 1 -j 1 -T 1 -l --log-prefix=log postgres", 0},
		{"times are whole seconds", workload.Job{Warmup: 1, Duration: 1500 * time.Millisecond, Pairs: []workload.Pair{pair(s, "2001:2::1")}},
			"/bin/pgbench -h 2001:2::1 -p 5201 -U postgres -n -S -M prepared -c 1 -j 1 -T 3 -l --log-prefix=log postgres", time.Second},
		{"many connections take their time", workload.Job{
			Duration: time.Second, Pairs: []workload.Pair{pair(s, "198.18.0.1")},
			Options: record.Options{Streams: 120}, CPUs: workload.CPUs{Client: []int{0, 1, 2, 3}},
		}, "/bin/pgbench -h 198.18.0.1 -p 5201 -U postgres -n -S -M prepared -c 120 -j 4 -T 3 -l --log-prefix=log postgres", 0},
	} {
		got := client("/bin/pgbench", c.job, 0, "sesame")
		if got.Command.String() != c.want || !slices.Equal(got.Command.Env, []string{"PGPASSWORD=sesame"}) {
			t.Errorf("%s: %s with %v", c.name, got.Command, got.Command.Env)
		}
		_, window := program.Window(c.job)
		p := c.job.Pairs[0]
		if want := (request{netip.AddrPortFrom(p.Addr, 5201), c.lead, window}); got.Params != want {
			t.Errorf("%s: %+v, want %+v", c.name, got.Params, want)
		}
		if !slices.Equal(got.Command.CPUs, c.job.CPUs.Client) {
			t.Errorf("%s: on CPUs %v", c.name, got.Command.CPUs)
		}
	}
}

func TestServer(t *testing.T) {
	a, b := &endpoint{name: "a"}, &endpoint{name: "b"}
	job := workload.Job{
		Pairs:   []workload.Pair{pair(a, "198.18.0.1"), pair(a, "2001:2::1"), pair(b, "198.18.0.2")},
		Options: record.Options{Streams: 3}, CPUs: workload.CPUs{Server: []int{2, 3}},
	}
	first, second := server("/pg/bin", job, 0, "sesame"), server("/pg/bin", job, 1, "sesame")
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	settings := first.Place.Files["postgresql.conf"].Text
	for _, want := range []string{"listen_addresses = '198.18.0.2, 2001:2::2'\n", "port = 5201\n", "max_connections = 16\n", "unix_socket_directories = ''\n"} {
		if !strings.Contains(settings, want) {
			t.Errorf("no %q in %s", want, settings)
		}
	}
	for _, c := range append(first.Place.Before, first.Command) {
		if line := c.String(); strings.Contains(line, "trust") || strings.Contains(line, "sesame") {
			t.Errorf("%s lets in everybody, or shows the password", line)
		}
	}
	if hba := first.Place.Files["pg_hba.conf"].Text; hba != "host all all all scram-sha-256\n" || !first.Place.Nobody {
		t.Errorf("%q lets in others, or it is root", hba)
	}
	job.Options.Streams = 1
	first, third := server("/pg/bin", job, 0, ""), server("/pg/bin", job, 2, "")
	if !slices.Equal(first.Command.CPUs, []int{2, 3}) || !slices.Equal(third.Command.CPUs, []int{3}) {
		t.Errorf("on CPUs %v and %v", first.Command.CPUs, third.Command.CPUs)
	}
}

// TestLogged cuts the window out of logs of two threads.
func TestLogged(t *testing.T) {
	write := func(logs ...string) string {
		dir := t.TempDir()
		for i, text := range logs {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.7.%d", i)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	// Connection, number, latency, script, seconds, microseconds: the first begins at 100 s.
	one := "0 1 1000 0 100 1000\n0 2 500 0 101 0\n0 3 20 0 101 1\n0 4 20 0 101 900000\n"
	two := "1 1 30 0 100 500000\n1 2 30 0 102 0\n1 3 30 0 102 1\n1 4 99 0 103 0\n"
	r := request{Lead: time.Second, Window: time.Second}
	for _, c := range []struct {
		logs []string
		want string
	}{
		{[]string{one, two}, "nettoll window lines=8 us=1000000\nnettoll clients 0:2 1:1\nnettoll latency_us 20:2 30:1\n"},
		{[]string{one}, "nettoll window lines=4 us=900000\nnettoll clients 0:2\nnettoll latency_us 20:2\n"},
		{[]string{one, "0 5 failed 0 101 3\n"}, "nettoll unknown 0 5 failed 0 101 3\n"},
		{[]string{"x"}, "nettoll unknown x\n"},
	} {
		if got, err := r.logged(write(c.logs...)); err != nil || got != c.want {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
	if got, err := r.logged(t.TempDir()); err == nil {
		t.Errorf("without a log: %q", got)
	}
}

// TestAdmitted has servers that let clients in, later or never.
func TestAdmitted(t *testing.T) {
	refusal := func(code string) string {
		fields := "SFATAL\x00C" + code + "\x00Mno\x00\x00"
		return "E" + string(binary.BigEndian.AppendUint32(nil, uint32(4+len(fields)))) + fields
	}
	if err := nl.With("", func(n *nl.NS) error { return n.Up("lo") }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		answers []string // to one connection after the other
		want    string
	}{
		{[]string{refusal("57P03"), refusal("57P03"), "R\x00\x00\x00\x08\x00\x00\x00\x0a"}, ""},
		{[]string{refusal("28000")}, "28000"},
		{[]string{"HTTP/1.1 400 Bad Request\r\n"}, "no PostgreSQL server"},
		{[]string{""}, "EOF"},
		{[]string{"E\xff\xff\xff\xff"}, "no PostgreSQL server"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for _, answer := range c.answers {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 100))
				_, _ = conn.Write([]byte(answer))
				conn.Close()
			}
		}()
		r := request{To: netip.MustParseAddrPort(l.Addr().String())}
		err = r.admitted(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.answers, err, c.want)
		}
		l.Close()
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)":  "15.18",
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": "15.18",
		"postgres (PostgreSQL) 18beta1":                        "18beta1",
		"postgres (PostgreSQL) ":                               "",
		"out of coffee":                                        "",
	} {
		if got, ok := version(said); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", said, got, ok)
		}
	}
}

func TestMajor(t *testing.T) {
	for path, want := range map[string]float64{
		"/usr/lib/postgresql/15/bin/postgres":  15,
		"/usr/lib/postgresql/9.6/bin/postgres": 9.6,
		"/usr/lib/postgresql/x/bin/postgres":   0,
	} {
		if got := major(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
