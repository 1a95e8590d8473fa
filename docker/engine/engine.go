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
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
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

// asking bounds a question to an engine that no caller's context bounds.
func asking() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), killTime)
}

// How long an engine may take to answer such a question that is asked for each of many
// processes, and how long when it did not answer the last one: it may hang.
const (
	answerTime = 5 * time.Second
	hangTime   = time.Second
)

func (e *Engine) asking() (context.Context, context.CancelFunc) {
	limit := answerTime
	if e.silent.Load() {
		limit = hangTime
	}
	return context.WithTimeout(context.Background(), limit)
}

// heard remembers whether the engine answered.
func (e *Engine) heard(err error) { e.silent.Store(errors.Is(err, context.DeadlineExceeded)) }

// pause is between two questions.
const pause = 10 * time.Millisecond

// until asks again and again until the answer is yes or an error, or ctx is over.
func until(ctx context.Context, answer func() (bool, error)) error {
	for {
		if yes, err := answer(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Each does something with all of them, so many at a time or, with -1, all at once. The errors
// are in the order of what they are about.
func Each[T any](limit int, all []T, do func(i int, one T) error) []error {
	errs := make([]error, len(all))
	var doing errgroup.Group
	doing.SetLimit(limit)
	for i, one := range all {
		doing.Go(func() error {
			errs[i] = do(i, one)
			return nil
		})
	}
	_ = doing.Wait()
	return errs
}

// failed says what an engine did not do, and why.
func failed(err error, format string, args ...any) error {
	return fmt.Errorf("docker: %s: %w", fmt.Sprintf(format, args...), brief(err))
}

// gone says that the engine has no such object.
func gone(err error) bool { return err != nil && cerrdefs.IsNotFound(err) }

// brief makes of an engine's error one line, without what says nothing to a reader.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	var request *url.Error
	if errors.As(err, &request) { // names the request by its path
		text = strings.ReplaceAll(text, request.Error(), request.Err.Error())
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "the engine did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		text = "the engine broke the connection off"
	}
	return &daemonError{text: strings.Join(strings.Fields(text), " "), err: err}
}

// daemonError is what an engine said.
type daemonError struct {
	text string
	err  error
}

func (e *daemonError) Error() string { return e.text }
func (e *daemonError) Unwrap() error { return e.err }
