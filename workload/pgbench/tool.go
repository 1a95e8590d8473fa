// Package pgbench drives a PostgreSQL server with pgbench, which comes with it
// (https://www.postgresql.org/docs/15/pgbench.html). A transaction is a prepared
// select of one row by its key, out of 100,000, all of which are in the server's memory.
//
// Each client is a pgbench of its own with as many connections as there are streams,
// one if nothing is said, each with one transaction at a time: a closed loop. Making
// the connections does not count. Transactions and their latencies are those in
// pgbench's log that ended in the window; they are exact to the microsecond.
// Payload is the server's answers, without column names: 37 bytes each.
//
// Each trial has a database of its own, in memory, that takes about a second to make, and a
// password of its own. The server writes nothing to the disk.
package pgbench

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// Names of the programs, all of which are in one Debian package.
const (
	pgbench       = "pgbench"
	postgres      = "postgres"
	initdb        = "initdb"
	debianPackage = "postgresql"
)

// saysVersion takes "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
var saysVersion = regexp.MustCompile(`\(PostgreSQL\) (\d\S*)`)

// Tool is pgbench with the server postgres.
var Tool = program.Tool{
	Name: "pgbench",
	Programs: []program.Program{
		{Name: pgbench, Package: debianPackage, Flag: "--version", Says: saysVersion},
		{Name: postgres, Package: debianPackage, Flag: "--version", Says: saysVersion},
	},
	Drives: []workload.Drive{{Workload: record.Postgres, Options: []string{"streams"}}},
	Serves: program.Endpoint,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Each(parse, together),
	Find:   find,
	Pack:   pack,
}

// lateness is about how long a client takes to its first transaction.
const lateness = 50 * time.Millisecond

func times(_ workload.Job, t *program.Trial) error {
	t.Lead += lateness
	// The log is read after the window, at about a million lines a second.
	t.Tail = t.Lead + t.Window
	return nil
}

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

// server makes its database anew, and refuses to be root.
func server(p program.Pair) program.Server {
	return program.Server{
		Command: program.Command{Args: []string{"-D", data, "-c", "config_file=postgresql.conf"}},
		Place: program.Place{
			Nobody: true,
			Files: map[string]program.File{
				"password":        {Text: p.Password},
				"pg_hba.conf":     {Text: "host all all all scram-sha-256\n"},
				"postgresql.conf": {Text: fmt.Sprintf(settings, p.Joined(", "), p.Port, p.Flows+spare)},
			},
			Before: []program.Command{
				{Path: p.Found[initdb], Args: []string{
					"-D", data, "-U", user, "-A", "scram-sha-256", "--pwfile=password",
					"-E", "UTF8", "--no-locale", "--no-sync", "--wal-segsize=1",
				}},
				{Path: p.Found[postgres], Args: []string{"--single", "-D", data, "-c", "exit_on_error=on", "postgres"}, Stdin: tables},
			},
		},
	}
}

// data is the directory of the database, in that of the server.
const data = "data"

func client(p program.Pair) program.Client {
	lead, window := program.Window(p.Job)
	seconds := int((lead+window)/time.Second) + p.Streams/perSecond
	return program.Client{
		Command: program.Command{
			Env: []string{"PGPASSWORD=" + p.Password},
			Args: []string{
				"-h", p.Addr.String(), "-p", strconv.Itoa(p.Port), "-U", user,
				"-n", "-S", "-M", "prepared", "-c", strconv.Itoa(p.Streams), "-j", strconv.Itoa(max(1, min(p.Streams, len(p.ClientCPUs)))),
				"-T", strconv.Itoa(seconds), "-l", "--log-prefix=log", "postgres",
			},
		},
		Procedure: procedure,
		Params:    request{To: netip.AddrPortFrom(p.Addr, uint16(p.Port)), Lead: lead, Window: window},
	}
}
