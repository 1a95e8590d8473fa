// Package engine is what platforms and networks of Docker are put together
// from: engines, their hosts, containers and networks, nettoll's image, and
// engines that are started for a measurement. Everything that it makes on an
// engine carries a label, and is gone when its hosts are closed.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/moby/moby/client"
)

// Label marks what nettoll has made on an engine. Its value is the id of the run.
const Label = "nettoll.run"

// Engine is a Docker engine, and the run that uses it.
type Engine struct {
	Client *client.Client
	Run    string // id of the run, the value of Label
	Image  Image

	process string // this one, the value of processLabel
	deaths  *deaths
	loading sync.Mutex
	loaded  string // reference of the image; empty until it is there
	silent  atomic.Bool
	says    func() string // what it is, asked once
}

// Image is what containers are made from.
type Image struct {
	// Given is the reference of an image that the engine has, which must hold nettoll
	// as /nettoll. Empty: Root is loaded.
	Given string
	// Root writes the root filesystem as a tar archive. It has nettoll as /nettoll.
	Root io.WriterTo
}

// self is nettoll's own program in every image.
const self = "/nettoll"

// NewEngine uses an engine for a run, until Close.
func NewEngine(c *client.Client, run string, image Image) *Engine {
	e := &Engine{Client: c, Run: run, Image: image, process: thisProcess()}
	e.says = sync.OnceValue(e.describe)
	e.deaths = follow(e)
	return e
}

// Close removes the image that was loaded, and leaves the engine.
func (e *Engine) Close(ctx context.Context) error {
	e.loading.Lock()
	defer e.loading.Unlock()
	var err error
	if e.loaded != "" && e.Image.Given == "" {
		err = Object{Kind: "image", Name: e.loaded, id: e.loaded, force: true}.remove(ctx, e.Client)
	}
	e.deaths.stop()
	return errors.Join(err, e.Client.Close())
}

// Load brings the image to the engine, unless it is there, and gives its reference.
func (e *Engine) Load(ctx context.Context) (string, error) {
	e.loading.Lock()
	defer e.loading.Unlock()
	ref := e.Image.Given
	if ref == "" {
		ref = imageName + ":" + e.Run
	}
	have, err := e.Client.ImageInspect(ctx, ref)
	switch {
	case err != nil && !gone(err):
		return "", failed(err, "inspect image %s", ref)
	case err != nil && e.Image.Given != "":
		return "", fmt.Errorf("docker: the engine has no image %s: pull or load it first", ref)
	case err != nil:
		err = e.importImage(ctx)
	case e.Image.Given == "" && (have.Config == nil || have.Config.Labels[Label] != e.Run):
		return "", fmt.Errorf("docker: the engine has an image %s that is not nettoll's: give it another name", ref)
	}
	if err != nil {
		return "", failed(err, "load image")
	}
	e.loaded = ref
	return ref, nil
}

// image is the reference of the image, which is asked for no more once it was there.
func (e *Engine) image(ctx context.Context) (string, error) {
	e.loading.Lock()
	ref := e.loaded
	e.loading.Unlock()
	if ref != "" {
		return ref, nil
	}
	return e.Load(ctx)
}

// imageName is that of images which nettoll makes; their tag is the run's id.
const imageName = "nettoll"

func (e *Engine) importImage(ctx context.Context) error {
	r, w := io.Pipe()
	go func() {
		_, err := e.Image.Root.WriteTo(w)
		w.CloseWithError(err)
	}()
	defer r.CloseWithError(errors.New("the engine took no more of the image"))
	res, err := e.Client.ImageImport(ctx, client.ImageImportSource{Source: r, SourceName: "-"}, imageName, client.ImageImportOptions{
		Tag: e.Run,
		Changes: []string{
			"ENTRYPOINT [" + quoted(self) + "]", "ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin",
			"LABEL " + Label + "=" + e.Run + " " + processLabel + "=" + quoted(e.process),
		},
	})
	if err != nil {
		return err
	}
	return drain(res)
}

// drain reads the progress messages of an engine to their end. An error can be
// among them, although the answer began well.
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

// label is what everything is marked with: the run, and the process that makes it.
func (e *Engine) label() map[string]string {
	return map[string]string{Label: e.Run, processLabel: e.process}
}

// name makes a name that no object of anyone else has.
func (e *Engine) name(what string) string {
	return "nettoll-" + e.Run[:min(12, len(e.Run))] + "-" + what
}

// Facts are what the engine says of itself that can make its networks differ from
// another engine's.
func (e *Engine) Facts(ctx context.Context) (map[string]string, error) {
	info, err := e.Client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, failed(err, "ask the engine")
	}
	i := info.Info
	facts := map[string]string{
		"engine": i.ServerVersion, "api": e.Client.ClientVersion(), "storage": i.Driver, "runtime": i.DefaultRuntime,
		"cgroup": i.CgroupVersion, "kernel": i.KernelVersion, "os": i.OperatingSystem,
	}
	if i.FirewallBackend != nil {
		facts["firewall"] = i.FirewallBackend.Driver
	}
	maps.DeleteFunc(facts, func(_, v string) bool { return v == "" })
	return facts, nil
}

// describe says in a few words which engine it is and what can make its networks differ
// from another's. It is empty where the engine does not say.
func (e *Engine) describe() string {
	ctx, cancel := asking()
	defer cancel()
	facts, err := e.Facts(ctx)
	if err != nil {
		return ""
	}
	text := "Docker Engine " + facts["engine"]
	for _, name := range []string{"storage", "runtime", "firewall", "cgroup"} {
		if v := facts[name]; v != "" {
			text += ", " + name + " " + v
		}
	}
	return text
}

// Here says whether the engine's containers are processes of this very machine, seen
// from where nettoll runs: a container is started, and looked for among them. An
// engine in a virtual machine has a socket here as well, and its word for a process
// would be that of a stranger.
func (e *Engine) Here(ctx context.Context) (here bool, err error) {
	c, err := e.start(ctx, Spec{Name: "here", Mode: "none"}, false)
	if err != nil {
		return false, err
	}
	return c.seen(), c.remove(context.WithoutCancel(ctx))
}
