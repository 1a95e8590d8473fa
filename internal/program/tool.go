package program

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// Tool is a tool that is one program or two, as data: what a tool has of its own. At gives the
// workload.Tool, which finds the programs, asks them their versions, starts a server and a client
// for each pair of a job, and puts together what the clients measured.
type Tool struct {
	Name     string
	Programs []Program // the client's first, and the server's, where that is another
	Drives   []workload.Drive

	// Serves says whom a server serves.
	Serves Serves
	// Roams: the server cannot be told where to listen, and is held to the Addresses of its Pair.
	Roams bool
	// Server and Client say what a pair is started with. What they leave out is as Pair says: the
	// endpoints, the paths of the programs, their CPUs, and TCP ports for the server to listen on.
	Server func(Pair) Server
	Client func(Pair) Client

	// Times changes when the clients of a trial count, and by what time they must have ended. It
	// is given what holds otherwise: after the warm-up, for the duration of the job, both in whole
	// seconds.
	Times func(workload.Job, *Trial) error
	// NoWarmup: clients count from their first moment, and trials say so.
	NoWarmup bool
	// Result reads what came of a trial; see Each. Together makes it.
	Result func(workload.Job, Outcome) (workload.Result, error)

	// Explain and Failed are for tools whose errors need a word more. Explain is that of Trial;
	// Failed is given the error of a trial, and gives a better one, or the same.
	Explain func(stdout string) string
	Failed  func(error, workload.Job) error
	// Find is for a tool whose programs are not in PATH; it may find more than are listed.
	Find func(Paths) (Paths, error)
	// Pack is for a tool that needs more in an image than its programs and their libraries.
	Pack func(Paths) (workload.Pack, error)
}

// Program is a program of a tool.
type Program struct {
	Name    string // by which --tool-path knows it
	Package string // of Debian
	Else    string // where it is for those who do not have it in their PATH; may be empty
	// Flag has it say its version, which is the first group of Says. A program without these has
	// the version of the other.
	Flag string
	Says *regexp.Regexp
	// Oldest is the first version that will do, such as "3.7"; without it any will. Tested are
	// those of which there are transcripts.
	Oldest, Tested string
}

// Serves says whom a server serves, and on which port.
type Serves int

const (
	OneClient Serves = iota // on the first of the client's own ports
	Address                 // all clients that come to the address it listens at, on the common port
	Endpoint                // all clients of its endpoint, at whatever address, on the common port
)

// At gives the tool with its programs where the paths say, or in PATH.
func (t Tool) At(paths Paths) workload.Tool {
	at := placed{t, paths}
	if t.Roams {
		return roaming{at}
	}
	return at
}

// Names are those of the programs, as --tool-path has them.
func (t Tool) Names() (names []string) {
	for _, p := range t.Programs {
		names = append(names, p.Name)
	}
	return names
}

// client and server are the programs of the two ends.
func (t Tool) client() Program { return t.Programs[0] }
func (t Tool) server() Program { return t.Programs[len(t.Programs)-1] }

// placed is a tool and where its programs are.
type placed struct {
	tool  Tool
	paths Paths
}

// roaming is a tool with a server that cannot be told where to listen.
type roaming struct{ placed }

var (
	_ workload.Prober = placed{}
	_ workload.Packer = placed{}
	_ workload.Roamer = roaming{}
)

// Name implements workload.Tool.
func (p placed) Name() string { return p.tool.Name }

// Drives implements workload.Tool.
func (p placed) Drives() []workload.Drive { return p.tool.Drives }

// Roams implements workload.Roamer.
func (r roaming) Roams() string { return r.tool.server().Name }

// Probe implements workload.Prober.
func (p placed) Probe(ctx context.Context) error {
	_, err := p.Version(ctx)
	return err
}

// find gives the paths of all programs, by name.
func (p placed) find() (Paths, error) {
	if p.tool.Find != nil {
		return p.tool.Find(p.paths)
	}
	found := Paths{}
	for _, f := range p.tool.Programs {
		path, err := p.paths.Find(f)
		if err != nil {
			return nil, err
		}
		found[f.Name] = path
	}
	return found, nil
}

// Pack implements workload.Packer.
func (p placed) Pack() (pack workload.Pack, err error) {
	found, err := p.find()
	if err != nil {
		return pack, err
	}
	if p.tool.Pack != nil {
		return p.tool.Pack(found)
	}
	for _, name := range p.tool.Names() {
		pack.Programs = append(pack.Programs, found[name])
	}
	return pack, nil
}

// Version implements workload.Tool. It is the client's, and names the server's where that is
// another: "7.0.15+redis-server-7.2".
func (p placed) Version(ctx context.Context) (string, error) {
	found, err := p.find()
	if err != nil {
		return "", err
	}
	var versions []string
	for _, asked := range p.tool.Programs {
		if asked.Says == nil {
			continue
		}
		v, err := asked.version(ctx, found[asked.Name])
		if err != nil {
			return "", err
		}
		if len(versions) == 0 {
			versions = append(versions, v)
		} else if v != versions[0] {
			versions = append(versions, asked.Name+"-"+v)
		}
	}
	return strings.Join(versions, "+"), nil
}

// version has the program say its version, which must not be too old.
func (f Program) version(ctx context.Context, path string) (string, error) {
	said, err := Say(ctx, path, f.Flag)
	if err != nil {
		return "", err
	}
	m := f.Says.FindStringSubmatch(said)
	needs := fmt.Sprintf("%s %s or later", f.Name, f.Oldest)
	switch {
	case m != nil && (f.Oldest == "" || !older(m[1], f.Oldest)):
		return m[1], nil
	case f.Oldest == "":
		return "", fmt.Errorf("%s %s says %.80q, which is no version", path, f.Flag, said)
	case m == nil:
		err = fmt.Errorf("%s is not %s: it says %.60q of its version", path, needs, said)
	default:
		err = fmt.Errorf("%s is version %s", path, m[1])
	}
	return "", &platform.Unsupported{Feature: f.Name, Option: needs, Remedy: remedy(f.Name, f.get()) + "; tested with " + f.Tested, Err: err}
}

// older compares versions such as "3.12" by their numbers.
func older(version, than string) bool {
	byNumber := func(a, b string) int {
		m, _ := strconv.Atoi(a) // 0 where it is none
		n, _ := strconv.Atoi(b)
		return cmp.Compare(m, n)
	}
	return slices.CompareFunc(strings.Split(version, "."), strings.Split(than, "."), byNumber) < 0
}

// Run implements workload.Tool.
func (p placed) Run(ctx context.Context, job workload.Job) (workload.Result, error) {
	found, err := p.find()
	if err != nil {
		return workload.Result{}, err
	}
	r, err := p.tool.run(ctx, job, found)
	if err == nil {
		return r, nil
	}
	err = fmt.Errorf("%s: %w", p.tool.Name, err)
	if p.tool.Failed != nil {
		err = p.tool.Failed(err, job)
	}
	return workload.Result{}, err
}

func (t Tool) run(ctx context.Context, job workload.Job, found Paths) (workload.Result, error) {
	trial, err := t.Trial(job, found)
	if err != nil {
		return workload.Result{}, err
	}
	o, err := Run(ctx, job, trial)
	if err != nil {
		return workload.Result{}, err
	}
	r, err := t.Result(job, o)
	if err != nil {
		return workload.Result{}, err
	}
	if t.NoWarmup && job.Warmup > 0 {
		r.Warnings = append(r.Warnings, record.Warning{Code: "no-warmup", Text: fmt.Sprintf(
			"%s counts from its first moment: the warm-up of %v is not left out", t.Name, job.Warmup.Round(time.Millisecond))})
	}
	return r, nil
}

// Trial is what a job takes, with the programs where they were found.
func (t Tool) Trial(job workload.Job, found Paths) (trial Trial, err error) {
	if !slices.ContainsFunc(t.Drives, func(d workload.Drive) bool { return d.Workload == job.Workload }) {
		return trial, fmt.Errorf("it does not drive %s", job.Workload)
	}
	trial.Explain = t.Explain
	if trial.Lead, trial.Window = Window(job); t.NoWarmup {
		trial.Lead = 0
	}
	if t.Times != nil {
		if err := t.Times(job, &trial); err != nil {
			return trial, err
		}
	}
	password := rand.Text()
	for i := range job.Pairs {
		p := t.Serves.pair(job, i)
		p.Lead, p.Window, p.Found, p.Password = trial.Lead, trial.Window, found, password
		s, c := t.Server(p), t.Client(p)
		s.Endpoint, c.Endpoint = p.Server, p.Client
		s.Command.Path = cmp.Or(s.Command.Path, found[t.server().Name])
		c.Command.Path = cmp.Or(c.Command.Path, found[t.client().Name])
		if s.Command.CPUs = p.ServerCPUs; c.Command.CPUs == nil {
			c.Command.CPUs = p.ClientCPUs
		}
		if s.Listen == nil {
			s.Listen = p.Ports("tcp")
		}
		if t.Roams {
			s.Place.Hold = p.Addresses
		}
		trial.Servers, trial.Clients = append(trial.Servers, s), append(trial.Clients, c)
	}
	return trial, nil
}
