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
	"strconv"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
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
		{"plain", plain, server, "-h 198.18.0.1 -p 20001 -U postgres -n -S -M prepared -c 1 -j 1 -T 2" + rest},
		{"times are whole seconds", fractions, server, "-h 2001:2::1 -p 20001 -U postgres -n -S -M prepared -c 1 -j 1 -T 4" + rest},
		{"many connections take their time", many, server, "-h 198.18.0.1 -p 20001 -U postgres -n -S -M prepared -c 120 -j 4 -T 4" + rest},
	})
	for _, c := range []struct {
		job  workload.Job
		want request
	}{
		{fractions, request{netip.MustParseAddrPort("[2001:2::1]:20001"), 0, time.Second, 2 * time.Second}},
		{many, request{netip.MustParseAddrPort("198.18.0.1:20001"), 2 * time.Second, 0, time.Second}},
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

// TestTimes has connections that take time before the window.
func TestTimes(t *testing.T) {
	trial, err := Tool.Trial(workloadtest.Warm(workloadtest.Job(record.Postgres, record.Options{Streams: 1000}), time.Second), nil)
	iferr.Fatal(t, err)
	if lead, all := 21*time.Second+lateness, 23*time.Second; trial.Lead != lead || trial.Lead+trial.Window+trial.Tail <= all {
		t.Errorf("a window after %v, at most %v in all; want %v, more than %v", trial.Lead, trial.Lead+trial.Window+trial.Tail, lead, all)
	}
}

func TestServer(t *testing.T) {
	job := workloadtest.Job(record.Postgres, record.Options{Streams: 3},
		workloadtest.Pair("c", "a", "198.18.0.1"), workloadtest.Pair("d", "a", "2001:2::1"), workloadtest.Pair("e", "b", "198.18.0.2"))
	job.CPUs.Server = []int{2, 3}
	trial, err := Tool.Trial(job, nil)
	iferr.Fatal(t, err)
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
			iferr.Fatal(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.7.%d", i)), []byte(text), 0o644))
		}
		return dir
	}
	// Connection, number, latency, script, seconds, microseconds: the first begins at 100 s.
	one := "0 1 1000 0 100 1000\n0 2 500 0 101 0\n0 3 20 0 101 1\n0 4 20 0 101 900000\n"
	two := "1 1 30 0 100 500000\n1 2 30 0 102 0\n1 3 30 0 102 1\n1 4 99 0 103 50000\n1 5 30 0 103 50001\n"
	began := time.Unix(99, 0)
	for _, c := range []struct {
		logs       []string
		connecting time.Duration
		want       string
	}{
		{[]string{one, two}, 0, "{9 1000000 950000 map[0:2 1:1] map[20:2 30:1] }"},
		{[]string{one, two}, 2 * time.Second, "{9 1000000 0 map[1:1] map[99:1] }"}, // more than it took
		{[]string{one}, 0, "{4 900000 950000 map[0:2] map[20:2] }"},
		{[]string{one, "0 5 failed 0 101 3\n"}, 0, "{0 0 0 map[] map[] 0 5 failed 0 101 3}"},
		{[]string{"x"}, 0, "{0 0 0 map[] map[] x}"},
	} {
		r := request{Connecting: c.connecting, Lead: time.Second, Window: time.Second}
		if got, err := r.logged(write(c.logs...), began); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%v, %v; want %s", got, err, c.want)
		}
	}
	if got, err := (request{}).logged(t.TempDir(), began); err == nil {
		t.Errorf("without a log: %v", got)
	}
}

// TestAdmitted has servers that accept clients late or never.
func TestAdmitted(t *testing.T) {
	refusal := func(code string) string {
		fields := "SFATAL\x00C" + code + "\x00Mno\x00\x00"
		return "E" + string(binary.BigEndian.AppendUint32(nil, uint32(4+len(fields)))) + fields
	}
	machine.Loopback(t)
	for _, c := range []struct {
		answers []string // to successive connections
		want    string
	}{
		{[]string{refusal("57P03"), refusal("57P03"), "R\x00\x00\x00\x08\x00\x00\x00\x0a"}, ""},
		{[]string{refusal("28000")}, "28000"},
		{[]string{"HTTP/1.1 400 Bad Request\r\n"}, "not a PostgreSQL server"},
		{[]string{""}, "EOF"},
		{[]string{"E\xff\xff\xff\xff"}, "not a PostgreSQL server"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		iferr.Fatal(t, err)
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

// TestEnvironment has variables that would lead pgbench to a database of the user's, and ask for TLS.
func TestEnvironment(t *testing.T) {
	t.Setenv("PGHOSTADDR", "192.0.2.7")
	t.Setenv("PGSSLMODE", "require")
	forget()
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "PG") {
			t.Errorf("pgbench is told %s", kv)
		}
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

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

// said returns a figure that pgbench prints itself, such as "tps = 7659.402336".
func said(t *testing.T, text, mark string) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		t.Fatalf("it says no %q", mark)
	}
	v, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	iferr.Fatal(t, err)
	return v
}

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		file        string
		connections int
		whole       bool // there is no warm-up: pgbench counts the same as we do
	}{
		{"15.18/one.txt", 1, true}, {"15.18/four.txt", 4, false}, {"15.18/crowd.txt", 20, true},
	} {
		text := transcript(t, c.file)
		f, err := read(text, c.connections)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		total := f.Histogram.Count()
		rate, mean := f.Sums[record.TransactionRate], f.Histogram.Summary()[record.LatencyMean]
		if len(f.Flows) != c.connections || total == 0 {
			t.Errorf("%s: %v, %d transactions", c.file, f.Flows, total)
		}
		if !c.whole {
			continue
		}
		if n := said(t, text, processedMark); float64(total) != n {
			t.Errorf("%s: %d transactions, it says %v", c.file, total, n)
		}
		if v := said(t, text, "tps = "); rate < 0.97*v || rate > 1.03*v {
			t.Errorf("%s: %v transactions a second, it says %v", c.file, rate, v)
		}
		if v := said(t, text, "latency average = ") / 1e3; mean < 0.7*v || mean > 1.03*v { // its figure is the whole time, including pgbench's own
			t.Errorf("%s: mean latency %v, it says %v", c.file, mean, v)
		}
	}
}

const good = `number of transactions actually processed: 5
number of failed transactions: 0 (0.000%)
nettoll log {"Lines":5,"Microseconds":1000000,"Clients":{"0":2,"1":1},"Latencies":{"70":2,"90":1}}
`

func TestParse(t *testing.T) {
	f, err := read(good, 2)
	r := program.Together(workloadtest.Clients(record.Postgres, record.Options{Streams: 2}, 2), program.Outcome{Window: time.Second}, []figures{f, f})
	const want = "1s 222 B [{111 2 3} {111 2 3}] latency_max=9e-05 latency_mean=7.666667e-05 latency_p50=7e-05 latency_p90=9e-05 " +
		"latency_p99=9e-05 latency_p999=9e-05 transaction_rate=6 74 B/2 37 B/1 74 B/2 37 B/1"
	if got := workloadtest.Told(r); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	with := func(old, new string) string { return workloadtest.Altered(t, good, old, new) }
	for _, c := range []struct{ name, text, want string }{
		{"server killed", transcript(t, "15.18/killed.txt"), `it printed no "nettoll log"`},
		{"refused", transcript(t, "15.18/refused.txt"), "it printed no"},
		{"nothing", "", "pgbench 15 is known to work"},
		{"no failures told, as before 15", with("number of failed", "number of foiled"), `it printed no "number of failed transactions"`},
		{"failures", with("0 (0.000%)", "2 (40.000%)"), "2 (40.000%) transactions failed"},
		{"unknown line of the log", with(`{"Lines"`, `{"Unknown":"0 1 failed 0 1 2","Lines"`), `its log has the line "0 1 failed 0 1 2"`},
		{"incomplete log", with(`"Lines":5`, `"Lines":4`), "its log has 4 of 5 transactions"},
		{"nan", with("processed: 5", "processed: nan"), "its log has 5 of nan transactions"},
		{"empty log", with(`"Lines":5`, `"Lines":0`), "its log has 0 of 5 transactions"},
		{"negative", with(`"Lines":5`, `"Lines":-5`), "its log has -5 of 5 transactions"},
		{"no time", with(":1000000", ":0"), "a window of 0 µs"},
		{"negative lateness", with(`"Clients"`, `"Late":-1,"Clients"`), "a window that began -1 µs late"},
		{"no clients", with("Clients", "Strangers"), "3 latencies of 0 transactions"},
		{"more connections", with(`{"0":2,"1":1}`, `{"0":1,"1":1,"2":1}`), "3 latencies of 3 transactions, 2 of them by 2 connections"},
		{"latency lost", with(`"70":2`, `"70":1`), "2 latencies of 3 transactions"},
		{"latency is none", with(`"70"`, `"x"`), "its log: json: "},
		{"less than none", with(`"70":2`, `"70":-2`), "its log: json: "},
	} {
		_, err := parse(workloadtest.Job(record.Postgres, record.Options{Streams: 2}), c.text, "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

// TestOtherWindow has clients that began late, and whose transactions ended early.
func TestOtherWindow(t *testing.T) {
	job := workloadtest.Clients(record.Postgres, record.Options{Streams: 2}, 2)
	for _, c := range []struct {
		old, new string
		warned   bool
	}{
		{`"Clients"`, `"Late":99000,"Clients"`, false},
		{`"Clients"`, `"Late":101000,"Clients"`, true},
		{`:1000000`, `:899000`, true},
	} {
		f, err := read(workloadtest.Altered(t, good, c.old, c.new), 2)
		iferr.Fatal(t, err)
		if r := together(job, program.Outcome{Window: time.Second}, []figures{f, f}); len(r.Warnings) > 0 != c.warned {
			t.Errorf("%s: warnings %v", c.new, r.Warnings)
		}
	}
}

// TestIdleConnections has connections that do nothing while the window is open: of many that share a path, some may wait that long. Of
// two it is a fault.
func TestIdleConnections(t *testing.T) {
	for connections, want := range map[int]string{2: "flow 1: nothing was received", 17: ""} {
		text := workloadtest.Altered(t, good, `{"0":2,"1":1}`, `{"0":3}`)
		if connections == 17 {
			text = workloadtest.Altered(t, good, `{"0":2,"1":1}`, `{"0":1,"7":1,"16":1,"8":1,"9":1,"10":1}`)
			text = workloadtest.Altered(t, workloadtest.Altered(t, text, `"70":2`, `"70":5`), `5,"Micro`, `9,"Micro`)
			text = workloadtest.Altered(t, text, "processed: 5", "processed: 9")
		}
		r, err := Tool.Result(workloadtest.Job(record.Postgres, record.Options{Streams: connections}), program.Outcome{
			Clients: []program.Output{{Stdout: text}}, Servers: []program.Output{{}}, ServerOf: []int{0}, Window: time.Second,
		})
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%d connections: %v, want %s", connections, err, want)
		case want == "" && (err != nil || len(r.Warnings) != 1 || r.Warnings[0].Code != record.WarnStarved || len(r.Flows) != connections):
			t.Errorf("%d connections: %v, %v", connections, err, r.Warnings)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good, 2)
	for _, name := range []string{"killed.txt", "refused.txt"} {
		f.Add(transcript(f, "15.18/"+name), 1)
	}
	f.Fuzz(func(t *testing.T, text string, connections int) {
		got, err := read(text, connections)
		if err != nil {
			return
		}
		var total uint64
		for _, f := range got.Flows {
			total += f.Transactions
		}
		if got.Window <= 0 || total == 0 || total != got.Histogram.Count() {
			t.Errorf("%+v", got)
		}
	})
}
