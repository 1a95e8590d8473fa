package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/moby/moby/client"
	"github.com/spf13/pflag"

	"nettoll/docker/dial"
	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/program"
	"nettoll/kube"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/kubernetes"
	"nettoll/platform/lab"
	"nettoll/platform/ssh"
	"nettoll/record"
	"nettoll/workload"
)

// engineFlags selects the Docker engines to use, and the contents of their containers.
type engineFlags struct {
	at      []string
	private bool
	image   string
	tools   []string
}

const privateEngine = "private-engine"

func (f *engineFlags) add(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.at, "docker-host", nil, "Docker engine, by URL or context; one for each host (default: that of the docker command)")
	fl.BoolVar(&f.private, privateEngine, false, "start Docker engines for this run, on hosts of the lab, and end them with it")
	fl.StringVar(&f.image, "docker-image", "", "image that the engine has, with nettoll as /nettoll and the tools (default: made from this program)")
	fl.StringSliceVar(&f.tools, "docker-tools", nil, "programs of this machine to add to the image, besides those that the run needs")
}

// onEngines reports whether engines make the network.
func onEngines(network string) bool { return isOn[*docker.Docker](network) }

// ofEngines returns the cells whose networks are made by engines.
func ofEngines(cells []record.Cell) []record.Cell { return cellsOn[*docker.Docker](cells) }

// borrows reports whether cells are measured on the user's engines: then nettoll runs next to them instead of in a
// lab.
func (f *engineFlags) borrows(cells []record.Cell) bool {
	return !f.private && len(ofEngines(cells)) > 0
}

// engineFlagNames are the flags that mean nothing without an engine.
var engineFlagNames = []string{"docker-host", privateEngine, "docker-image", "docker-tools"}

// suitEngines finds mistakes in the flags for a run of the cells: flags that would have no effect, and names that
// cannot be those of engines.
func (f *runFlags) suitEngines(cells []record.Cell) error {
	const host = "docker-host"
	if f.given(host) && f.private {
		return usagef("--%s names an engine that runs, --%s starts one; leave one out", host, privateEngine)
	}
	if f.given("docker-image") && f.private && !f.cluster {
		return usagef("--docker-image names an image that an engine has, and those of --%s begin without any; leave one out", privateEngine)
	}
	if f.given("docker-image") && f.given("docker-tools") && !f.cluster { // the images of private clusters have these programs, too
		return usagef("--docker-tools adds programs to the image that nettoll makes, --docker-image names another; leave one out")
	}
	theirs := ofEngines(cells)
	if len(theirs) == 0 {
		if err := f.without("of an engine", "docker:bridge", engineFlagNames...); err != nil {
			return err
		}
	}
	if _, err := f.added(); err != nil {
		return err
	}
	if f.image == "" {
		if _, err := packs(theirs, f.paths, !f.private); err != nil {
			return err
		}
	}
	if err := f.named(); err != nil {
		return err
	}
	used, n := record.Most(theirs, func(c record.Cell) int { return c.Hosts }), len(f.at)
	ofSwarm := func(c record.Cell) bool { return platformOf(c.Network).Info().Name == labSwarm } // its manager need not be measured
	switch {
	case f.resume == "" && f.given("hosts") && f.borrows(cells) && used > max(1, n):
		i := slices.IndexFunc(theirs, func(c record.Cell) bool { return c.Hosts == used })
		return usagef("%s on %d hosts takes as many engines; name each with --docker-host, or have them started (--private-engine)", theirs[i].Network, used)
	case f.resume != "" || n <= max(1, used) || slices.ContainsFunc(theirs, ofSwarm):
	case used == 1:
		return usagef("--docker-host names %d engines, and networks of this run are on one; leave the others out", n)
	default:
		return usagef("--docker-host names %d engines, and this run uses only the first %d; leave the others out, or have clients on all but the first with --hosts %[1]d and --clients %[3]d or more", n, used, n-1)
	}
	return nil
}

// without refuses flags for networks of which the run has none.
func (f *runFlags) without(networks, such string, flags ...string) error {
	for _, name := range flags {
		if f.given(name) {
			return usagef("--%s: the run has no network %s; name one, such as %s, or leave it out", name, networks, such)
		}
	}
	return nil
}

// onEnginesThere leaves out networks on more hosts than the user has engines, and those that are not measured between
// engines of the user, unless numbers of hosts were requested or nothing else is left. It adds them to the suite's skips.
func (f *runFlags) onEnginesThere(s *plan.Suite, cells []record.Cell) []record.Cell {
	most := max(1, len(f.at))
	if !f.borrows(cells) || len(s.Hosts) > 0 {
		return cells
	}
	others := record.Those(cells, func(c record.Cell) bool { return !onEngines(c.Network) })
	theirHosts := record.Distinct(others, func(c record.Cell) int { return c.Hosts })
	tooMany := func(c record.Cell) bool { return c.Hosts > most && !slices.Contains(theirHosts, c.Hosts) }
	cells = leaveOut(s, cells, tooMany, func(c record.Cell) string {
		return fmt.Sprintf("that takes %d engines; name each with --docker-host, or have them started (--private-engine)", c.Hosts)
	})
	lab := func(c record.Cell) bool { return c.Hosts > 1 && f.onOwnEngines(c) && !betweenMachines(c.Network) }
	without, with := map[int]bool{}, map[int]bool{} // numbers of hosts, by whether all that is compared there is left out
	for _, c := range cells {
		without[c.Hosts] = without[c.Hosts] || lab(c)
		with[c.Hosts] = with[c.Hosts] || !lab(c) && (!c.IsNative() || slices.Contains(s.Networks, c.Network))
	}
	return leaveOut(s, cells, func(c record.Cell) bool { return lab(c) || without[c.Hosts] && !with[c.Hosts] }, func(record.Cell) string {
		return "that is not measured between machines of your own; have engines started on hosts of the lab (--private-engine)"
	})
}

// leaveOut leaves out some cells, and those that are compared with them, unless nothing else is left, and adds their networks to the
// suite's skips.
func leaveOut(s *plan.Suite, cells []record.Cell, some func(record.Cell) bool, why func(record.Cell) string) []record.Cell {
	var left []record.Cell
	var skips []plan.Skip
	for _, c := range cells {
		reason := ""
		switch against := c.Against(); {
		case some(c):
			reason = why(c)
		case some(against):
			reason = fmt.Sprintf("%s, with which it is compared, is left out there; name another baseline (--baseline)", against.Network)
		default:
			left = append(left, c)
			continue
		}
		if !c.IsNative() {
			skips = record.AddNew(skips, plan.Skip{Network: fmt.Sprintf("%s on %s", c.Network, hosts(c.Hosts)), Reason: reason})
		}
	}
	if len(left) == 0 {
		return cells
	}
	for _, k := range skips {
		s.Skips = record.AddNew(s.Skips, k)
	}
	return left
}

// named refuses names that cannot be those of engines, whether these run or not.
func (f *engineFlags) named() error {
	for i, name := range f.at {
		switch {
		case name == "":
			return usagef("--docker-host: no value is given")
		case slices.Contains(f.at[:i], name):
			return usagef("--docker-host: %s is named twice", name)
		}
		if _, err := dial.Resolve(name); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// check reports an engine that cannot be reached, before anything is measured.
func (f *engineFlags) check(ctx context.Context) error {
	for _, dial := range f.dial() {
		c, _, err := dial(ctx)
		if err != nil {
			return err
		}
		c.Close()
	}
	return nil
}

// dialEngine connects to an engine, and reports whether it may be on this machine.
type dialEngine = func(context.Context) (*client.Client, bool, error)

// dial returns a function for each of the user's engines that connects to it.
func (f *engineFlags) dial() (all []dialEngine) {
	names := f.at
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		all = append(all, func(ctx context.Context) (*client.Client, bool, error) {
			target, err := dial.Resolve(name)
			if err != nil {
				return nil, false, err
			}
			c, err := dial.Connect(ctx, target)
			return c, target.MayBeLocal(), err
		})
	}
	return all
}

// engines are the platforms of one run other than the lab. The zero value can be named and listed, but not used.
type engines struct {
	docker *docker.Docker
	swarm  *docker.Docker
	ssh    *ssh.SSH
	kube   *kubernetes.Kubernetes
	paths  program.Paths // to the daemons of networks of the lab
	cni    cniFlags
}

// named fills in platforms that can only be named, if there are none.
func (e engines) named() engines {
	if e.docker == nil {
		e.docker, e.swarm = docker.New(docker.Options{}), docker.NewSwarm(docker.Options{})
	}
	if e.ssh == nil {
		e.ssh = ssh.New(ssh.Options{})
	}
	if e.kube == nil {
		e.kube = kubernetes.New(kubernetes.Options{})
	}
	return e
}

// leaveTime bounds the cleaning of a platform's engines, or of a cluster, which continues after an interrupt. It is more than the
// removal of one object may take there.
const leaveTime = 90 * time.Second

// leave removes from the engines what was made on them.
func (e engines) leave(ctx context.Context) error {
	e = e.named()
	closes := []func(context.Context) error{e.docker.Close, e.swarm.Close, e.kube.Close}
	return errors.Join(record.Each(closes, func(closing func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		return closing(ctx)
	})...)
}

// open returns the platforms for a run.
func (f *runFlags) open(run record.Run, paths program.Paths, conflists cniFlags) (engines, error) {
	e := engines{paths: paths, cni: conflists, ssh: f.on}
	switch of := ofClusters(run.Cells); {
	case len(of) > 0 && f.cluster:
		root, err := f.root(of, paths)
		if err != nil {
			return engines{}, err
		}
		e.kube = kubernetes.New(kubernetes.Options{Options: kube.Options{Run: run.ID, Paths: paths, Image: root}, Lab: lab.New()})
	case len(of) > 0:
		e.kube = kubernetes.New(kubernetes.Options{Own: f.own()})
	}
	of := ofEngines(run.Cells)
	if len(of) == 0 {
		return e, nil
	}
	o := docker.Options{Run: run.ID, Image: engine.Image{Given: f.image}, Names: f.at, At: f.addressOf, Through: f.through}
	if f.private {
		o.Lab = lab.New()
	} else {
		o.Dial = f.dial()
	}
	if f.image == "" {
		root, err := f.root(of, paths)
		if err != nil {
			return engines{}, err
		}
		o.Image.Root = root
	}
	e.docker, e.swarm = docker.New(o), docker.NewSwarm(o)
	return e, nil
}

// root returns the image: the agent, the programs that the cells' tools start, with the files that these need, and
// the programs requested by --docker-tools. In the image all files have the same paths as here.
func (f *engineFlags) root(cells []record.Cell, paths program.Paths) (*rootfs.Image, error) {
	agent, err := rootfs.Agent()
	if err != nil {
		return nil, err
	}
	packs, err := packs(cells, paths, len(ofEngines(cells)) > 0)
	if err != nil {
		return nil, err
	}
	in, data := []rootfs.Program{agent}, []rootfs.Data(nil)
	for _, pack := range packs {
		in = append(in, record.Each(pack.Programs, asHere)...)
		data = append(data, record.Each(pack.Data, func(path string) rootfs.Data { return rootfs.Data(path) })...)
	}
	added, err := f.added()
	if err != nil {
		return nil, err
	}
	return rootfs.With(data, append(in, added...)...)
}

// added returns the programs requested by --docker-tools.
func (f *engineFlags) added() (all []rootfs.Program, err error) {
	for _, name := range f.tools {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, usagef("--docker-tools %s: no such program", name)
		}
		all = append(all, asHere(path))
	}
	return all, nil
}

// asHere puts a program where it is on this machine.
func asHere(path string) rootfs.Program { return rootfs.Program{File: path, Path: path} }

// packs returns what the tools of cells need in an image. The error names one that can be in none; named is whether the user can name
// another image.
func packs(cells []record.Cell, paths program.Paths, named bool) (all []workload.Pack, err error) {
	by := toolByName(paths)
	for _, name := range record.Distinct(cells, toolOf) {
		pack, err := packed(by[name])
		if err != nil {
			remedy := "leave it out"
			if named {
				remedy += ", or name an image that has it (--docker-image)"
			}
			return nil, usagef("--tool %s: it cannot be used in containers: %w; %s", name, err, remedy)
		}
		all = append(all, pack)
	}
	return all, nil
}

// packed returns what a tool needs in an image. A missing tool needs nothing: its trials report how to get it.
func packed(tool workload.Tool) (workload.Pack, error) {
	if tool.Pack == nil {
		return workload.Pack{}, nil
	}
	pack, err := tool.Pack()
	if errors.Is(err, platform.ErrUnsupported) {
		return workload.Pack{}, nil
	}
	for _, path := range pack.Programs {
		if err == nil {
			err = fits(path)
		}
	}
	return pack, err
}

// fits returns an error if a program cannot be in an image, at the same path as here.
func fits(path string) error {
	_, err := rootfs.New(asHere(path))
	return err
}

// explainEngine adds the alternative to the error of an engine that cannot be reached.
func explainEngine(err error) error {
	if errors.As(err, new(*dial.Unreachable)) {
		return fmt.Errorf("%w; --private-engine starts one for the run", err)
	}
	return err
}
