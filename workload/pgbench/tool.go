// Package pgbench drives a PostgreSQL server with pgbench, which comes with it
// (https://www.postgresql.org/docs/15/pgbench.html). A transaction is a prepared select of one row
// by its key, out of 100,000, all of which are in the server's memory.
//
// Each client is a separate pgbench with as many connections as there are streams, one by default,
// each with one transaction at a time: a closed loop. Making the connections does not count.
// Transactions and their latencies are those in pgbench's log that ended in the window; they are
// exact to the microsecond. Payload is the server's answers, without column names: 37 bytes each.
//
// Each trial has a database of its own, in memory, which takes about a second to make, and a
// password of its own. The server writes nothing to the disk.
package pgbench

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// saysVersion matches "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
var saysVersion = regexp.MustCompile(`\(PostgreSQL\) (\d\S*)`)

// Tool is pgbench with the server postgres.
var Tool = program.Tool{
	Name: "pgbench",
	Programs: []program.Program{
		{Name: pgbench, Package: debianPackage, Flag: "--version", Says: saysVersion, Oldest: "15", Tested: "15.18"},
		{Name: postgres, Package: debianPackage, Flag: "--version", Says: saysVersion},
	},
	Drives: []workload.Drive{{Workload: record.Postgres, Options: []string{"streams"}}},
	Serves: program.Endpoint,
	Times:  times,
	Server: server,
	Client: client,
	Result: program.Heard(program.Each(parse, together)),
	Find:   find,
	Pack:   pack,
}

const (
	// lateness is about how long a client takes until its first transaction, apart from its connections.
	lateness = 50 * time.Millisecond
	// spareTime is how much longer pgbench runs than it measures. Its time begins before its connections are made, so without
	// it the transactions would end before the window of the CPU time, and at another time in each client.
	spareTime = time.Second
)

func times(job workload.Job, t *program.Trial) {
	t.Lead += connecting(job) + lateness
	// The log is read after the window, at about a million lines per second.
	t.Tail = t.Lead + t.Window + spareTime
}

// tables creates the tables of pgbench -i at scale 1, except the history, which its read-only
// transactions do not need.
const tables = `create table pgbench_branches(bid int primary key, bbalance int, filler char(88));
insert into pgbench_branches values (1, 0);
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84));
insert into pgbench_accounts select aid, 1, 0, '' from generate_series(1, 100000) aid;
alter table pgbench_accounts add primary key (aid);
vacuum freeze analyze;
`

// spare is how many connections a server accepts in addition to those of the clients: three are
// reserved for administrators.
const spare = 10

// perSecond is how many connections per second pgbench can be relied on to make. It makes one after
// the other, and the time for this is part of the time that it is given for the whole run.
const perSecond = 50

// connecting returns how long a client may take to make its connections, in whole seconds. The window begins only
// after that, so that CPU time is that of transactions, whose window is cut out of the log.
func connecting(job workload.Job) time.Duration {
	return time.Duration(job.Options.Streams/perSecond) * time.Second
}

// user is the name of the database's only user.
const user = "postgres"

// settings of a server whose files are in memory, and whose data need not be kept. It accepts
// connections over TCP only. It does not need time zones.
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

// server makes its database anew. Its programs refuse to run as root.
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

// data is the directory of the database, below that of the server.
const data = "data"

func client(p program.Pair) program.Client {
	lead, window := program.Window(p.Job)
	seconds := int((connecting(p.Job) + lead + window + spareTime) / time.Second)
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
		Params:    request{To: netip.AddrPortFrom(p.Addr, uint16(p.Port)), Connecting: connecting(p.Job), Lead: lead, Window: window},
	}
}

// versions is where Debian installs the programs of each version, outside of PATH.
const versions = "/usr/lib/postgresql/*/bin/postgres"

// find finds the programs. Those that are not given are those of Debian's newest version, or else
// those in PATH. (Debian's pgbench in PATH is a script that selects a version.)
func find(given program.Paths) (found program.Paths, err error) {
	all, _ := filepath.Glob(versions)
	newest := ""
	if len(all) > 0 {
		newest = slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(major(a), major(b)) })
	}
	found = program.Paths{pgbench: given[pgbench], postgres: cmp.Or(given[postgres], newest)}
	look := func(name string) {
		if err == nil {
			found[name], err = found.Find(program.Program{Name: name, Package: debianPackage})
		}
	}
	look(postgres)
	bin := filepath.Dir(found[postgres])
	found[initdb] = filepath.Join(bin, initdb)
	if beside := filepath.Join(bin, pgbench); found[pgbench] == "" {
		if _, missing := os.Stat(beside); missing == nil {
			found[pgbench] = beside
		}
	}
	look(pgbench)
	look(initdb)
	return found, err
}

// major returns the version in a path such as /usr/lib/postgresql/15/bin/postgres.
func major(path string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64) // 0 if it is not a number
	return v
}

// shell is used by initdb to run the server (popen(3)): pgbench is the only tool that puts a shell
// into images.
const shell = "/bin/sh"

// libraries are those that the server loads during initdb.
var libraries = []string{"plpgsql.so", "dict_snowball.so"}

// pack includes the files next to the server from which a new database is made.
func pack(found program.Paths) (pack workload.Pack, err error) {
	bin := filepath.Dir(found[postgres])
	pack.Programs = []string{found[pgbench], found[postgres], found[initdb], shell}
	share, err := installed(bin, "--sharedir")
	if err != nil {
		return pack, err
	}
	lib, err := installed(bin, "--pkglibdir")
	if err != nil {
		return pack, err
	}
	pack.Data = []string{share}
	for _, name := range libraries {
		pack.Data = append(pack.Data, filepath.Join(lib, name))
	}
	return pack, nil
}

// installed asks pg_config, which is next to the server or in PATH, for a folder of the
// installation.
func installed(bin, flag string) (string, error) {
	const config = "pg_config"
	path := filepath.Join(bin, config)
	if _, err := exec.LookPath(path); err != nil {
		if path, err = (program.Paths{}).Find(program.Program{Name: config, Package: debianPackage}); err != nil {
			return "", err
		}
	}
	said, err := program.Say(context.Background(), path, flag)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(said) || strings.Contains(said, "\n") {
		return "", fmt.Errorf("%s %s printed %q, which is not a folder", path, flag, said)
	}
	return said, nil
}
