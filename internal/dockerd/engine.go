// Package dockerd is what platforms and techniques of Docker are put together
// from: engines, their hosts, containers and networks, nettoll's image, and
// engines that are started for a measurement. Everything that it makes on an
// engine carries a label, and is gone when its hosts are closed.
package dockerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
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

	described described
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
	e.deaths = follow(e)
	return e
}

// Close removes the image that was loaded, and leaves the engine.
func (e *Engine) Close(ctx context.Context) error {
	e.loading.Lock()
	defer e.loading.Unlock()
	var err error
	if e.loaded != "" && e.Image.Given == "" {
		if err = removeImage(ctx, e.Client, e.loaded, true); err != nil {
			err = fmt.Errorf("docker: remove image %s: %w", e.loaded, err)
		}
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
		return "", fmt.Errorf("docker: inspect image %s: %w", ref, brief(err))
	case err != nil && e.Image.Given != "":
		return "", fmt.Errorf("docker: the engine has no image %s: pull or load it first", ref)
	case err != nil:
		err = e.importImage(ctx)
	case e.Image.Given == "" && (have.Config == nil || have.Config.Labels[Label] != e.Run):
		return "", fmt.Errorf("docker: the engine has an image %s that is not nettoll's: give it another name", ref)
	}
	if err != nil {
		return "", fmt.Errorf("docker: load image: %w", brief(err))
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

func quoted(s string) string { return `"` + s + `"` }

// label is what everything is marked with: the run, and the process that makes it.
func (e *Engine) label() map[string]string {
	return map[string]string{Label: e.Run, processLabel: e.process}
}

// name makes a name that no object of anyone else has.
func (e *Engine) name(what string) string {
	return "nettoll-" + e.Run[:min(12, len(e.Run))] + "-" + what
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
