package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"nettoll/internal/await"
	"nettoll/internal/emulated"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// deaths records how containers of a run ended. The engine removes them at once, and could not be asked
// afterwards.
type deaths struct {
	stop context.CancelFunc

	mu     sync.Mutex
	oom    map[string]bool   // by container's id
	how    map[string]string // exit status
	breaks int               // how often the engine has ended or was unreachable
}

// follow listens to the engine's events about the run's containers. It reconnects if the engine is
// restarted.
func follow(e *Engine) *deaths {
	ctx, stop := context.WithCancel(context.Background())
	d := &deaths{stop: stop, oom: map[string]bool{}, how: map[string]string{}}
	go func() {
		for ctx.Err() == nil {
			d.listen(ctx, e)
			_ = await.Sleep(ctx, time.Second)
		}
	}()
	return d
}

func (d *deaths) listen(ctx context.Context, e *Engine) {
	said := e.Client.Events(ctx, client.EventsListOptions{
		Filters: make(client.Filters).Add("type", "container").Add("label", Label+"="+e.Run).Add("event", "die", "oom"),
	})
	for {
		select {
		case m := <-said.Messages:
			d.note(m)
		case <-said.Err:
			d.mu.Lock()
			d.breaks++
			d.mu.Unlock()
			return
		}
	}
}

func (d *deaths) note(m events.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.Action == events.ActionOOM {
		d.oom[m.Actor.ID] = true
	} else {
		d.how[m.Actor.ID] = m.Actor.Attributes["exitCode"]
	}
}

// How long the engine's report of a death may take, and then that of its reason. Tools wait no longer
// for both than workload/engine does (250 ms). What is looked for after a trial may take longer: see Fault.
// Time passes while this process does not run, so what counts is how often it has looked.
const (
	deathTime  = 200 * time.Millisecond
	reasonTime = 40 * time.Millisecond
	lookTime   = 10 * time.Millisecond
	unhurried  = 20
)

// age returns how often the engine has ended so far.
func (d *deaths) age() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.breaks
}

// of returns what became of a container that was started at the given age of the engine, or nil if that
// is not known within so many times the usual time. Running out of memory may have ended only one process in it.
func (d *deaths) of(id string, age, times int) error {
	left, told := times*int(deathTime/lookTime), false
	for ; ; time.Sleep(lookTime) {
		d.mu.Lock()
		oom, how, lost := d.oom[id], d.how[id], d.breaks > age
		d.mu.Unlock()
		if how != "" && !told {
			left, told = times*int(reasonTime/lookTime), true
		}
		late := left == 0
		left--
		switch {
		case oom && (how != "" || late):
			return errors.New("ran out of memory (OOM)")
		case lost:
			return errors.New("was lost: its Docker engine, or the connection to it, ended")
		case how == killed && late:
			return errors.New("was killed from outside (exit status 137)")
		case how == "0":
			return errOver
		case how != "" && how != killed:
			return fmt.Errorf("ended with exit status %s", how)
		case late:
			return nil
		}
	}
}

// killed is the exit status of SIGKILL, which the engine reports before its reason.
const killed = "137"

// errOver is the end of a container whose agent's input was closed.
var errOver = errors.New("ended with exit status 0")

// faultTime is how long engines may take to answer while a fault is looked for.
const faultTime = 12 * time.Second

// Fault returns what happened to the objects that were made on the engine, for a trial that failed
// without a known cause: the engine hangs or has ended, a container has ended, or a container was
// disconnected from a network. It is nil if everything is as it was made.
func (h *Host) Fault(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, emulated.Patience(faultTime))
	defer cancel()
	if err := h.answers(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	made := slices.Clone(h.made)
	h.mu.Unlock()
	return wrap.Error(record.Try(made, func(c *Container) error { return c.fault(ctx) }), "docker")
}

// answers returns an error if the engine does not answer.
func (h *Host) answers(ctx context.Context) error {
	_, err := h.Engine.Client.Ping(ctx, client.PingOptions{})
	return wrap.Error(brief(err), "docker: the engine of %s", h.name)
}

func (c *Container) fault(ctx context.Context) error {
	is, err := c.engine.Client.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if err != nil && !gone(err) {
		return fmt.Errorf("container %s: %w", c.name, brief(err))
	}
	ended := err != nil || !is.Container.State.Running
	if ended || c.first.Err() != nil { // a busy engine notices later than the agent's client
		if how := c.ending(c.age, unhurried); how != nil {
			return how
		}
	}
	if ended {
		return fmt.Errorf("container %s has ended", c.name)
	}
	for on := range c.nets {
		if is.Container.NetworkSettings.Networks[on] == nil {
			return fmt.Errorf("container %s is no longer on network %s: somebody disconnected it", c.name, on)
		}
	}
	return nil
}
