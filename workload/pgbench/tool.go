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
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
)

// Name is the tool's name and the client program's.
const Name = "pgbench"

const (
	postgres      = "postgres"
	initdb        = "initdb"
	debianPackage = "postgresql"
	// versions is where Debian has the programs of each version, outside of PATH.
	versions = "/usr/lib/postgresql/*/bin/postgres"
)

// lateness is about how long a client takes to its first transaction.
const lateness = 50 * time.Millisecond

// Tool implements workload.Tool with the programs.
type Tool struct{ paths program.Paths }

// New returns the tool.
func New(paths program.Paths) Tool { return Tool{paths} }

var (
	_ workload.Tool   = Tool{}
	_ workload.Prober = Tool{}
	_ workload.Packer = Tool{}
)

// Name implements workload.Tool.
func (Tool) Name() string { return Name }

// Drives implements workload.Tool.
func (Tool) Drives() []workload.Drive {
	return []workload.Drive{{Workload: record.Postgres, Options: []string{"streams"}}}
}

// programs is where the programs are.
type programs struct{ pgbench, postgres string }

// find finds the programs. Those that are not given are the newest of Debian's, whose
// pgbench in PATH is a script that looks for one, or those in PATH.
func (tool Tool) find() (p programs, err error) {
	all, _ := filepath.Glob(versions)
	newest := ""
	if len(all) > 0 {
		newest = slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(major(a), major(b)) })
	}
	paths := program.Paths{postgres: cmp.Or(tool.paths[postgres], newest), Name: tool.paths[Name]}
	if p.postgres, err = paths.Find(postgres, debianPackage); err != nil {
		return p, err
	}
	if beside := filepath.Join(filepath.Dir(p.postgres), Name); paths[Name] == "" {
		if _, err := os.Stat(beside); err == nil {
			paths[Name] = beside
		}
	}
	p.pgbench, err = paths.Find(Name, debianPackage)
	return p, err
}

// major is the version in a path such as /usr/lib/postgresql/15/bin/postgres.
func major(path string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64) // 0 where it is none
	return v
}

// Probe implements workload.Prober.
func (tool Tool) Probe(ctx context.Context) error {
	p, err := tool.find()
	if err != nil {
		return err
	}
	makes := filepath.Join(filepath.Dir(p.postgres), initdb)
	if _, err := (program.Paths{initdb: makes}).Find(initdb, debianPackage); err != nil {
		return err
	}
	_, err = tool.Version(ctx)
	return err
}

// Version implements workload.Tool. It names the server's, where it is another.
func (tool Tool) Version(ctx context.Context) (string, error) {
	p, err := tool.find()
	if err != nil {
		return "", err
	}
	var versions []string
	for _, path := range []string{p.pgbench, p.postgres} {
		said, err := program.Say(ctx, path, "--version")
		if err != nil {
			return "", err
		}
		v, ok := version(said)
		if !ok {
			return "", fmt.Errorf("%s: no version in %q", path, said)
		}
		versions = append(versions, v)
	}
	if versions[0] != versions[1] {
		return versions[0] + "+postgres-" + versions[1], nil
	}
	return versions[0], nil
}

// Run implements workload.Tool.
func (tool Tool) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	found, err := tool.find()
	if err != nil {
		return workload.Result{}, err
	}
	var t program.Trial
	t.Lead, t.Window = program.Window(job)
	t.Lead += lateness
	password := rand.Text()
	for i := range job.Pairs {
		t.Servers = append(t.Servers, server(filepath.Dir(found.postgres), job, i, password))
		t.Clients = append(t.Clients, client(found.pgbench, job, i, password))
	}
	// The log is read after the window, at about a million lines a second.
	t.Tail = t.Lead + t.Window
	o, err := program.Run(ctx, job, t)
	if err != nil {
		return workload.Result{}, fmt.Errorf("pgbench: %w", err)
	}
	clients := make([]figures, len(o.Clients))
	for i, c := range o.Clients {
		if clients[i], err = parse(c.Stdout, max(job.Options.Streams, 1)); err != nil {
			return workload.Result{}, fmt.Errorf("pgbench: client %s: %w", job.Pairs[i].Client.Name(), err)
		}
	}
	return result(job, t.Window, o, clients), nil
}
