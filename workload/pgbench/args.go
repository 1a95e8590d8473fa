package pgbench

import (
	_ "embed"
	"strconv"
	"strings"

	"nettoll/internal/program"
	"nettoll/workload"
)

// Both programs want files. They keep them in a file system in memory that nobody else
// sees and that goes with the last process that does: nothing is left, however a
// trial ends.

// serve makes a database and starts its server.
//
//go:embed serve.sh
var serve string

// request runs pgbench and prints what its log says of the window.
//
//go:embed request.sh
var request string

// window prints what pgbench's log says of the window; it is awk's.
//
//go:embed window.awk
var window string

// tables is what pgbench -i makes at scale 1, but for the history, which its
// read-only transactions do not need.
const tables = `create table pgbench_branches(bid int primary key, bbalance int, filler char(88));
insert into pgbench_branches values (1, 0);
create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84));
insert into pgbench_accounts select aid, 1, 0, '' from generate_series(1, 100000) aid;
alter table pgbench_accounts add primary key (aid);
vacuum freeze analyze;
`

// privately is a command that runs a script with mounts of its own.
func privately(script string, args ...string) program.Command {
	return program.Command{Path: "unshare", Args: append([]string{"--mount", "--ipc", "sh", "-c", script, "sh"}, args...)}
}

// spare is how many connections a server takes beyond those of the clients: three are
// kept for administrators.
const spare = 10

// perSecond is how many connections pgbench can be relied on to make in a second. It
// makes one after the other, in the time that it was given for all.
const perSecond = 50

// server is the database server of a pair and of all others with the same one.
func server(bin string, job workload.Job, pair int) program.Command {
	p, flows, before := job.Pairs[pair], 0, map[any]bool{}
	for i, other := range job.Pairs {
		if other.Server == p.Server && other.Port == p.Port {
			flows += max(job.Options.Streams, 1)
		} else if i < pair {
			before[other.Server] = true
		}
	}
	c := privately(serve, bin, strconv.Itoa(p.Port), strconv.Itoa(flows+spare))
	c.Stdin, c.CPUs = tables, program.CPUs(job.CPUs.Server, len(before), flows)
	return c
}

// client is pgbench for a pair.
func client(pgbench string, job workload.Job, pair int) program.Command {
	p, streams := job.Pairs[pair], max(job.Options.Streams, 1)
	lead, length := program.Window(job)
	cpus := program.CPUs(job.CPUs.Client, pair, streams)
	before := 0
	if lead > 0 {
		before = program.WholeSeconds(lead)
	}
	c := privately(request, pgbench,
		strconv.Itoa(before), strconv.Itoa(program.WholeSeconds(length)), strconv.Itoa(streams/perSecond),
		"-h", p.Addr.String(), "-p", strconv.Itoa(p.Port), "-U", "postgres",
		"-n", "-S", "-M", "prepared", "-c", strconv.Itoa(streams), "-j", strconv.Itoa(max(1, min(streams, len(cpus)))))
	c.Stdin, c.CPUs = window, cpus
	return c
}

// version finds the version in what a program says, such as "postgres (PostgreSQL)
// 15.18 (Debian 15.18-0+deb12u1)".
func version(said string) (string, bool) {
	_, rest, ok := strings.Cut(said, "(PostgreSQL) ")
	v, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return v, ok && v != "" && v[0] >= '0' && v[0] <= '9'
}
