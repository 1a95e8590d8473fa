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
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestClient(t *testing.T) {
	plain := workloadtest.Job(record.Postgres, record.Options{})
	fractions := workloadtest.Warm(workloadtest.Job(record.Postgres, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1")), 1)
	fractions.Duration = 1500 * time.Millisecond
	many := workloadtest.Job(record.Postgres, record.Options{Streams: 120})
	many.CPUs.Client = []int{0, 1, 2, 3}
	const server, rest = "-D data -c config_file=postgresql.conf", " -l --log-prefix=log postgres"
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"plain", plain, server, "-h 198.18.0.1 -p 20001 -U postgres -n -S -M prepared -c 1 -j 1 -T 1" + rest},
		{"times are whole seconds", fractions, server, "-h 2001:2::1 -p 20001 -U postgres -n -S -M prepared -c 1 -j 1 -T 3" + rest},
		{"many connections take their time", many, server, "-h 198.18.0.1 -p 20001 -U postgres -n -S -M prepared -c 120 -j 4 -T 3" + rest},
	})
	for _, c := range []struct {
		job  workload.Job
		want request
	}{
		{fractions, request{netip.MustParseAddrPort("[2001:2::1]:20001"), time.Second, 2 * time.Second}},
		{many, request{netip.MustParseAddrPort("198.18.0.1:20001"), 0, time.Second}},
	} {
		s, got := workloadtest.Started(t, Tool, c.job, 0)
		if got.Params != c.want || !slices.Equal(got.Command.CPUs, c.job.CPUs.Client) {
			t.Errorf("%+v on CPUs %v, want %+v", got.Params, got.Command.CPUs, c.want)
		}
		if !slices.Equal(got.Command.Env, []string{"PGPASSWORD=" + s.Place.Files["password"].Text}) {
			t.Errorf("with %v", got.Command.Env)
		}
	}
}

func TestServer(t *testing.T) {
	job := workloadtest.Job(record.Postgres, record.Options{Streams: 3},
		workloadtest.Pair("c", "a", "198.18.0.1"), workloadtest.Pair("d", "a", "2001:2::1"), workloadtest.Pair("e", "b", "198.18.0.2"))
	job.CPUs.Server = []int{2, 3}
	trial, err := Tool.Trial(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second, password := trial.Servers[0], trial.Servers[1], trial.Servers[0].Place.Files["password"].Text
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two servers where there is one: %+v, %+v", first, second)
	}
	settings := first.Place.Files["postgresql.conf"].Text
	for _, want := range []string{"listen_addresses = '198.18.0.2, 2001:2::2'\n", "port = 20001\n", "max_connections = 16\n", "unix_socket_directories = ''\n"} {
		if !strings.Contains(settings, want) {
			t.Errorf("no %q in %s", want, settings)
		}
	}
	for _, c := range append(first.Place.Before, first.Command) {
		if line := c.String(); strings.Contains(line, "trust") || len(password) < 20 || strings.Contains(line, password) {
			t.Errorf("%s lets in everybody, or shows the password", line)
		}
	}
	if hba := first.Place.Files["pg_hba.conf"].Text; hba != "host all all all scram-sha-256\n" || !first.Place.Nobody {
		t.Errorf("%q lets in others, or it is root", hba)
	}
	job.Options.Streams = 1
	first, _ = workloadtest.Started(t, Tool, job, 0)
	third, _ := workloadtest.Started(t, Tool, job, 2)
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

func TestVersions(t *testing.T) {
	for said, want := range map[string]string{
		"pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)":  "15.18",
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": "15.18",
		"postgres (PostgreSQL) 18beta1":                        "18beta1",
		"postgres (PostgreSQL) ":                               "",
		"out of coffee":                                        "",
	} {
		m := saysVersion.FindStringSubmatch(said)
		if (m != nil) != (want != "") || m != nil && m[1] != want {
			t.Errorf("%q: %q", said, m)
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
