// Package engine holds the building blocks of Docker platforms and networks: engines, their hosts,
// containers and networks, nettoll's image, and engines that are started for a measurement. Every object
// that it makes on an engine carries a label, and is removed when its hosts are closed.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"nettoll/internal/bootstrap"
	"nettoll/internal/origin"
	"nettoll/platform"
)

// Label marks the objects that nettoll has made on an engine. Its value is the id of the run.
const Label = "nettoll.run"

// Engine is a Docker engine, and the run that uses it.
type Engine struct {
	Client *client.Client
	Run    string // id of the run, the value of Label
	Image  Image

	// Silence is how long agents in containers wait for this process, to which they are connected over a network, before they end;
	// 0: they are on its machine, and end with the connection.
	Silence time.Duration
	Pulse   *bootstrap.Pulse // of such agents

	process string // this process: the value of processLabel
	deaths  *deaths
	loading sync.Mutex
	loaded  string      // reference of the image; empty until it is loaded
	suits   atomic.Bool // so much is known: see Suits
	stale   string      // id of the image that another process of the run had loaded
	silent  atomic.Bool
	only4   atomic.Bool // see lacksIPv6
	private bool        // nettoll has started it, and ends it
	sick    atomic.Bool // and it did not end a process: see Hosts.Close

	says     atomic.Pointer[string]                     // see describe; nil until the engine has answered
	versions atomic.Pointer[client.ServerVersionResult] // see version; nil until the engine has said it

	mu      sync.Mutex
	unowned []string // names of objects that left has noted
}

// Image is what containers are made from.
type Image struct {
	// Given is the reference of an image that the engine has, which must have nettoll as /nettoll. If
	// it is empty, Root is loaded.
	Given string
	// Root is the root filesystem, as a tar archive. It has nettoll as /nettoll.
	Root interface{ Stream(io.Writer) error }
}

// self is the path of nettoll's own program in every image.
const self = "/nettoll"

// NewEngine returns an engine for use by a run, until Close.
func NewEngine(c *client.Client, run string, image Image) *Engine {
	e := &Engine{Client: c, Run: run, Image: image, process: thisProcess()}
	e.deaths = follow(e)
	return e
}

// Close removes the image that was loaded, what the engine has made after nobody waited for it any more or did not remove
// when it was told to, and what earlier processes of the run have left, and closes the connection.
func (e *Engine) Close(ctx context.Context) error {
	e.loading.Lock()
	defer e.loading.Unlock()
	errs := []error{e.removeLeft(ctx)}
	if e.Image.Given == "" {
		for _, id := range []string{e.loaded, e.stale} {
			if id != "" {
				errs = append(errs, Object{Kind: "image", Name: id, id: id, force: true}.remove(ctx, e.Client))
			}
		}
	}
	e.deaths.stop()
	return errors.Join(append(errs, e.Client.Close())...)
}

// late notes that a request to make an object has failed. If it had reached the engine, and was not answered, the engine may
// have made the object all the same, or make it later.
func (e *Engine) late(name string, err error) {
	at, _ := errors.AsType[*net.OpError](err)
	if reached := at == nil || at.Op != "dial"; reached && (errors.Is(err, context.Canceled) || brokenOff(err) || away(err)) {
		e.left(name)
	}
}

// left notes an object that the engine may have and that nobody else removes.
func (e *Engine) left(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unowned = append(e.unowned, name)
}

// removeLeft removes the objects that left has noted, and those of processes that were killed before the run was resumed, whose
// image is still there.
func (e *Engine) removeLeft(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.unowned) == 0 && e.stale == "" {
		return nil
	}
	all, err := find(ctx, e.Client)
	errs := []error{err}
	for _, o := range all {
		earlier := e.stale != "" && o.process != e.process && o.Kind != "image"
		if o.Run == e.Run && (earlier || o.process == e.process && slices.Contains(e.unowned, o.Name)) {
			o.force = true
			errs = append(errs, o.remove(ctx, e.Client))
		}
	}
	return errors.Join(errs...)
}

// Load loads the image into the engine, unless it has it, and returns its reference.
func (e *Engine) Load(ctx context.Context) (string, error) {
	e.loading.Lock()
	defer e.loading.Unlock()
	if err := e.Suits(ctx); err != nil {
		return "", err
	}
	ref := cmp.Or(e.Image.Given, imageName+":"+e.Run)
	have, err := e.Client.ImageInspect(ctx, ref)
	switch {
	case err != nil && !gone(err):
		return "", failed(err, "inspect image %s", ref)
	case err != nil && e.Image.Given != "":
		return "", fmt.Errorf("docker: the engine has no image %s: pull or load it first", ref)
	case err != nil:
		err = e.importImage(ctx)
	case e.Image.Given != "":
		if err := sameRelease(have); err != nil {
			return "", fmt.Errorf("docker: image %s %w", ref, err)
		}
	case have.Config == nil || have.Config.Labels[Label] != e.Run:
		return "", fmt.Errorf("docker: the engine has an image %s that is not nettoll's: give it another name", ref)
	case have.Config.Labels[processLabel] != e.process:
		// A process of the run that was killed has left it. Its agent, and its programs, may be others than this one's.
		e.stale = have.ID
		err = e.importImage(ctx)
	}
	if err != nil {
		return "", failed(err, "load image")
	}
	e.loaded = ref
	return ref, nil
}

// Suits returns an error if the CPUs of the engine's machine are of another kind than those that the image is for: its programs do not
// start there, or are emulated, at a cost that would be taken for the networks'.
func (e *Engine) Suits(ctx context.Context) error {
	if e.suits.Load() {
		return nil
	}
	is, err := e.info(ctx)
	if err != nil {
		return failed(err, "ask the engine")
	}
	kind, machine := runtime.GOARCH, kindOf(is.Info.Architecture)
	if e.Image.Given != "" {
		i, err := e.Client.ImageInspect(ctx, e.Image.Given)
		if err != nil {
			return nil // Load says why
		}
		kind = i.Architecture
	}
	if kind == "" || machine == "" || kind == machine || kind == map[string]string{"amd64": "386", "arm64": "arm"}[machine] {
		e.suits.Store(true)
		return nil
	}
	if e.Image.Given != "" {
		return fmt.Errorf("docker: image %s is for CPUs of the kind %s, and the engine's are %s; name an image for these", e.Image.Given, kind, machine)
	}
	return fmt.Errorf("docker: %w", error(&platform.Unsupported{
		Feature: "this machine's programs on the engine's", Option: "CPUs of the kind " + kind + " there, which are " + machine,
		Remedy: "name an image for these with --docker-image, such as that of the release",
	}))
}

// kindOf returns Go's name for the kind of CPUs that the kernel has another name for. Podman has Go's names.
func kindOf(machine string) string {
	if strings.HasPrefix(machine, "armv") {
		return "arm"
	}
	return cmp.Or(map[string]string{"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "loongarch64": "loong64"}[machine], machine)
}

// Labels of the images of releases (the annotations of the OCI image specification).
const (
	titleLabel   = "org.opencontainers.image.title"
	versionLabel = "org.opencontainers.image.version" // with a hyphen for each plus sign, as in tags
)

// sameRelease returns an error if an image is nettoll's own, or was made from it, and is of another version: agents of
// different versions need not understand each other, and may ignore what they do not know. The version of an image with
// another title is that of something else.
func sameRelease(i client.ImageInspectResult) error {
	if i.Config == nil || i.Config.Labels[titleLabel] != "nettoll" {
		return nil
	}
	own := strings.ReplaceAll(origin.Version(), "+", "-")
	if is := i.Config.Labels[versionLabel]; is != "" && is != own {
		return fmt.Errorf("has nettoll %s, and this is %s; use the image of the same release", is, own)
	}
	return nil
}

// image returns the reference of the image, and loads it if it has not been loaded yet.
func (e *Engine) image(ctx context.Context) (string, error) {
	e.loading.Lock()
	ref := e.loaded
	e.loading.Unlock()
	if ref != "" {
		return ref, nil
	}
	return e.Load(ctx)
}

// imageName is the name of images that nettoll makes; their tag is the run's id. localhost is no registry: no engine looks for them
// anywhere else, and Podman gives what it makes no other name.
const imageName = "localhost/nettoll"

func (e *Engine) importImage(ctx context.Context) error {
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(e.Image.Root.Stream(w))
	}()
	defer r.CloseWithError(errors.New("the engine stopped reading the image"))
	ref, changes := imageName+":"+e.Run, []string{
		"ENTRYPOINT [" + quoted(self) + "]", "ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"LABEL " + Label + "=" + e.Run, "LABEL " + processLabel + "=" + quoted(e.process), // one in each line, for Podman
	}
	podman, err := e.Podman(ctx)
	if err != nil {
		return err
	}
	if podman != "" {
		err = e.importToPodman(ctx, ref, changes, r)
	} else {
		var res client.ImageImportResult
		res, err = e.Client.ImageImport(ctx, client.ImageImportSource{Source: r, SourceName: "-"}, ref, client.ImageImportOptions{Changes: changes})
		if err == nil {
			err = drain(res)
		}
	}
	e.late(ref, err)
	return err
}

// drain reads the progress messages of an engine to their end. They may contain an error even if the
// answer began successfully.
func drain(r io.ReadCloser) error {
	defer r.Close()
	d := json.NewDecoder(r)
	for {
		var m struct {
			Error string `json:"error"`
		}
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Error != "":
			return errors.New(m.Error)
		}
	}
}

func quoted(s string) string { return `"` + s + `"` }

// label returns the labels of all objects: the run, and the process that makes them.
func (e *Engine) label() map[string]string {
	return map[string]string{Label: e.Run, processLabel: e.process}
}

// name returns a name that no object of anyone else has.
func (e *Engine) name(what string) string {
	return "nettoll-" + e.Run[:min(12, len(e.Run))] + "-" + what
}

// describe returns a short description of the engine, with properties that can make its networks differ
// from another engine's. It is "" if the engine does not answer.
func (e *Engine) describe() string {
	if known := e.says.Load(); known != nil {
		return *known
	}
	ctx, cancel := e.asking()
	defer cancel()
	res, err := e.Client.Info(ctx, client.InfoOptions{})
	e.heard(err)
	podman := ""
	if err == nil {
		podman, err = e.Podman(ctx)
	}
	if err != nil {
		return ""
	}
	i, firewall := res.Info, ""
	if i.FirewallBackend != nil {
		firewall = i.FirewallBackend.Driver
	}
	text := "Docker Engine " + i.ServerVersion
	if podman != "" {
		text = "Podman " + podman
	}
	for _, f := range [][2]string{{"storage", i.Driver}, {"runtime", i.DefaultRuntime}, {"firewall", firewall}, {"cgroup", i.CgroupVersion}} {
		if f[1] != "" {
			text += ", " + f[0] + " " + f[1]
		}
	}
	e.says.Store(&text)
	return text
}

// Here reports whether the engine's containers are processes of this machine, visible to nettoll: it
// starts a container and looks for it among them. An engine in a virtual machine has a socket here as
// well, but its PIDs would be those of unrelated processes. A rootless engine counts as one of another machine, since its
// host has a network namespace of its own.
func (e *Engine) Here(ctx context.Context) (here bool, err error) {
	is, err := e.info(ctx)
	if err != nil {
		return false, failed(err, "ask the engine")
	}
	if rootless(is) {
		return false, nil
	}
	c, err := e.start(ctx, Spec{Name: "here", Mode: "none"}, false)
	if err != nil {
		return false, err
	}
	return c.seen(), c.remove(context.WithoutCancel(ctx))
}

func rootless(is client.SystemInfoResult) bool {
	return slices.Contains(is.Info.SecurityOptions, "name=rootless")
}

// Rootless reports whether an ordinary user runs the engine. If rootlesskit has detached its network namespace (--detach-netns, by
// default in current versions), its bridges are there, while its containers with --network host are in the machine's.
func (h *Host) Rootless(ctx context.Context) bool {
	is, err := h.info(ctx)
	return err == nil && rootless(is)
}
