package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/spf13/pflag"

	"nettoll/docker/dial"
	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/program"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload"
)

// engineFlags say which Docker engines are used, and what their containers are made
// from.
type engineFlags struct {
	at      []string
	private bool
	image   string
	tools   []string
}

func (f *engineFlags) add(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.at, "docker-host", nil, "Docker engine, by URL or context; one for each host (default: that of the docker command)")
	fl.BoolVar(&f.private, "private-engine", false, "start Docker engines for this run, on hosts of the lab, and end them with it")
	fl.StringVar(&f.image, "docker-image", "", "image that the engine has, with nettoll as /nettoll and the tools (default: made from this program)")
	fl.StringSliceVar(&f.tools, "docker-tools", nil, "programs of this machine that the image gets beside those that the run needs")
}

// onEngines are the platforms whose networks engines make.
func onEngines(network string) bool {
	return strings.HasPrefix(network, "docker:") || strings.HasPrefix(network, "swarm:")
}

// borrows says that cells are measured on engines of the user's: then nettoll is where
// they are, and not in a lab.
func (f *engineFlags) borrows(cells []record.Cell) bool {
	return !f.private && slices.ContainsFunc(cells, func(c record.Cell) bool { return onEngines(c.Network) })
}

// suit finds mistakes in the flags for a run of the cells: flags that would change nothing,
// and names that can be no engine's.
func (f *engineFlags) suit(cells []record.Cell, given func(string) bool) error {
	const host, private = "docker-host", "private-engine"
	if given(host) && f.private {
		return usagef("--%s names an engine that runs, --%s starts one; leave one out", host, private)
	}
	if !slices.ContainsFunc(cells, func(c record.Cell) bool { return onEngines(c.Network) }) {
		for _, name := range []string{host, private, "docker-image", "docker-tools"} {
			if given(name) {
				return usagef("--%s: the run has no network of an engine; name one, such as docker:bridge, or leave it out", name)
			}
		}
	}
	return f.named()
}

// onEnginesThere leaves out networks on more hosts than there are engines of the user's, where
// nobody asked for so many and others are left, and has the suite say so.
func (f *runFlags) onEnginesThere(s *plan.Suite, cells []record.Cell) []record.Cell {
	most := max(1, len(f.at))
	if !f.borrows(cells) || len(s.Hosts) > 0 {
		return cells
	}
	tooMany := map[int]bool{}
	for _, c := range cells {
		if c.Hosts > most {
			tooMany[c.Hosts] = true
		}
	}
	for _, c := range cells {
		if !onEngines(c.Network) {
			delete(tooMany, c.Hosts)
		}
	}
	left := slices.DeleteFunc(slices.Clone(cells), func(c record.Cell) bool { return tooMany[c.Hosts] })
	if len(left) == 0 {
		return cells
	}
	told := map[string]bool{}
	for _, c := range cells {
		if name := fmt.Sprintf("%s on %s", c.Network, hosts(c.Hosts)); tooMany[c.Hosts] && !c.IsNative() && !told[name] {
			told[name] = true
			s.Skips = append(s.Skips, plan.Skip{Network: name, Reason: fmt.Sprintf("that takes %d engines; name each with --docker-host, or have them started (--private-engine)", c.Hosts)})
		}
	}
	return left
}

// named refuses names that were given and can be no engine's, whether it runs or not.
func (f *engineFlags) named() error {
	for _, name := range f.at {
		if name == "" {
			return usagef("--docker-host: no value is given")
		}
		if _, err := dial.Resolve(name); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// check finds out before anything is measured that there is no engine.
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

// dialEngine connects to an engine, and says whether it may be on this machine.
type dialEngine = func(context.Context) (*client.Client, bool, error)

// dial connects to each of the user's engines.
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

// engines are the platforms of one run that have engines. The zero value can be named
// and listed, but not used.
type engines struct {
	docker *docker.Docker
	swarm  *docker.Swarm
	paths  program.Paths // of the daemons that networks of the lab are made of
	cni    cniFlags
}

// named gives platforms that can be named where there are none.
func (e engines) named() engines {
	if e.docker == nil {
		e.docker = docker.New(docker.Options{})
	}
	if e.swarm == nil {
		e.swarm = docker.NewSwarm(docker.Options{})
	}
	return e
}

// leaveTime bounds the leaving of engines, which goes on after an interrupt.
const leaveTime = 30 * time.Second

// leave takes from the engines what was made on them.
func (e engines) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	var errs []error
	if e.docker != nil {
		errs = append(errs, e.docker.Close(ctx))
	}
	if e.swarm != nil {
		errs = append(errs, e.swarm.Close(ctx))
	}
	return errors.Join(errs...)
}

// open gives the platforms for a run.
func (f *engineFlags) open(run record.Run, paths program.Paths, conflists cniFlags) (engines, error) {
	if !slices.ContainsFunc(run.Cells, func(c record.Cell) bool { return onEngines(c.Network) }) {
		return engines{paths: paths, cni: conflists}, nil
	}
	o := docker.Options{Run: run.ID, Image: engine.Image{Given: f.image}}
	if f.private {
		o.Lab = lab.New()
	} else {
		o.Dial = f.dial()
	}
	if f.image == "" {
		root, err := f.root(run.Cells, paths)
		if err != nil {
			return engines{}, err
		}
		o.Image.Root = root
	}
	return engines{docker: docker.New(o), swarm: docker.NewSwarm(o), paths: paths, cni: conflists}, nil
}

// root is the image: the agent, the programs that the cells' tools start, with the files
// that these need, and what was asked for. In the image all is where it is here.
func (f *engineFlags) root(cells []record.Cell, paths program.Paths) (*rootfs.Image, error) {
	agent, err := rootfs.Agent()
	if err != nil {
		return nil, err
	}
	in, data := []rootfs.Program{agent}, []rootfs.Data(nil)
	for _, name := range usedTools(cells) {
		pack, err := packed(toolByName(paths)[name])
		if err != nil {
			return nil, usagef("--tool %s: it cannot be used in containers: %w; leave it out, or name an image that has it (--docker-image)", name, err)
		}
		for _, path := range pack.Programs {
			in = append(in, rootfs.Program{File: path, Path: path})
		}
		for _, path := range pack.Data {
			data = append(data, rootfs.Data(path))
		}
	}
	for _, name := range f.tools {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, usagef("--docker-tools %s: no such program", name)
		}
		in = append(in, rootfs.Program{File: path, Path: path})
	}
	return rootfs.With(data, in...)
}

// packed is what a tool needs in an image. Of one that is missing its trials say how to get it.
func packed(tool workload.Tool) (workload.Pack, error) {
	packer, ok := tool.(workload.Packer)
	if !ok {
		return workload.Pack{}, nil
	}
	pack, err := packer.Pack()
	if errors.Is(err, platform.ErrUnsupported) {
		return workload.Pack{}, nil
	}
	for _, path := range pack.Programs {
		if err == nil {
			_, err = rootfs.New(rootfs.Program{File: path, Path: path})
		}
	}
	return pack, err
}

// fits says whether a program can be in an image.
func fits(path string) bool {
	_, err := rootfs.New(rootfs.Program{File: path, Path: path})
	return err == nil
}

func usedTools(cells []record.Cell) (names []string) {
	for _, c := range cells {
		if onEngines(c.Network) && !slices.Contains(names, c.Tool) {
			names = append(names, c.Tool)
		}
	}
	return names
}

// explainEngine adds to an engine that cannot be reached what else can be done.
func explainEngine(err error) error {
	var away *dial.Unreachable
	if errors.As(err, &away) {
		return fmt.Errorf("%w; --private-engine starts one for the run", err)
	}
	return err
}
