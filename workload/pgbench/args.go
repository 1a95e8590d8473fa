package pgbench

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nettoll/internal/program"
	"nettoll/workload"
)

// tables is what pgbench -i makes at scale 1, but for the history, which its
// read-only transactions do not need.
const tables = `create table pgbench_branches(bid int primary key, bbalance int, filler char(88));
insert into pgbench_branches values (1, 0);
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84));
insert into pgbench_accounts select aid, 1, 0, '' from generate_series(1, 100000) aid;
alter table pgbench_accounts add primary key (aid);
vacuum freeze analyze;
`

// spare is how many connections a server takes beyond those of the clients: three are
// kept for administrators.
const spare = 10

// perSecond is how many connections pgbench can be relied on to make in a second. It
// makes one after the other, in the time that it was given for all.
const perSecond = 50

// user is the name of the only one that the database has.
const user = "postgres"

// settings of a server whose files are in memory, and whose data nobody wants to keep. Its
// only connections are those of TCP. Times of day are of no use to it.
const settings = `listen_addresses = '%s'
port = %d
max_connections = %d
hba_file = 'pg_hba.conf'
unix_socket_directories = ''
timezone = 'GMT'
log_timezone = 'GMT'
dynamic_shared_memory_type = mmap
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off
jit = off
log_min_messages = fatal
`

// server is the database server of a pair and of all others with the same one. It makes its
// database anew, and refuses to be root.
func server(bin string, job workload.Job, pair int, password string) program.Server {
	p, shared := job.Pairs[pair], program.SharedBy(job, pair)
	var addresses []string
	for _, a := range shared.Listen {
		addresses = append(addresses, a.String())
	}
	postgres := filepath.Join(bin, postgres)
	return program.Server{
		Endpoint: p.Server,
		Command: program.Command{
			Path: postgres, Args: []string{"-D", data, "-c", "config_file=postgresql.conf"},
			CPUs: program.CPUs(job.CPUs.Server, shared.Order, shared.Flows),
		},
		Place: program.Place{
			Nobody: true,
			Files: map[string]program.File{
				"password":        {Text: password},
				"pg_hba.conf":     {Text: "host all all all scram-sha-256\n"},
				"postgresql.conf": {Text: fmt.Sprintf(settings, strings.Join(addresses, ", "), p.Port, shared.Flows+spare)},
			},
			Before: []program.Command{
				{Path: filepath.Join(bin, initdb), Args: []string{
					"-D", data, "-U", user, "-A", "scram-sha-256", "--pwfile=password",
					"-E", "UTF8", "--no-locale", "--no-sync", "--wal-segsize=1",
				}},
				{Path: postgres, Args: []string{"--single", "-D", data, "-c", "exit_on_error=on", "postgres"}, Stdin: tables},
			},
		},
		Listen: program.Ports("tcp", shared.Listen, p.Port),
	}
}

// data is the directory of the database, in that of the server.
const data = "data"

// client is pgbench for a pair.
func client(pgbench string, job workload.Job, pair int, password string) program.Client {
	p, streams := job.Pairs[pair], max(job.Options.Streams, 1)
	lead, length := program.Window(job)
	cpus := program.CPUs(job.CPUs.Client, pair, streams)
	before := 0
	if lead > 0 {
		before = program.WholeSeconds(lead)
	}
	window := program.WholeSeconds(length)
	return program.Client{
		Endpoint: p.Client,
		Command: program.Command{
			Path: pgbench, CPUs: cpus, Env: []string{"PGPASSWORD=" + password},
			Args: []string{
				"-h", p.Addr.String(), "-p", strconv.Itoa(p.Port), "-U", user,
				"-n", "-S", "-M", "prepared", "-c", strconv.Itoa(streams), "-j", strconv.Itoa(max(1, min(streams, len(cpus)))),
				"-T", strconv.Itoa(before + window + streams/perSecond), "-l", "--log-prefix=log", "postgres",
			},
		},
		Procedure: procedure,
		Params: request{
			To:   netip.AddrPortFrom(p.Addr, uint16(p.Port)),
			Lead: time.Duration(before) * time.Second, Window: time.Duration(window) * time.Second,
		},
	}
}

// version finds the version in what a program says, such as "postgres (PostgreSQL)
// 15.18 (Debian 15.18-0+deb12u1)".
func version(said string) (string, bool) {
	_, rest, ok := strings.Cut(said, "(PostgreSQL) ")
	v, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return v, ok && v != "" && v[0] >= '0' && v[0] <= '9'
}
