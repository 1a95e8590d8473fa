package dockerd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
)

// deaths remembers how containers of a run ended. The engine removes them at once,
// and could not be asked any more.
type deaths struct {
	stop context.CancelFunc

	mu     sync.Mutex
	oom    map[string]bool   // by container's id
	how    map[string]string // exit status
	breaks int               // how often the engine has ended, or was out of reach
}

// follow listens to what the engine says of the run's containers. It begins again when
// the engine does.
func follow(e *Engine) *deaths {
	ctx, stop := context.WithCancel(context.Background())
	d := &deaths{stop: stop, oom: map[string]bool{}, how: map[string]string{}}
	go func() {
		for ctx.Err() == nil {
			d.listen(ctx, e)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
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

// How long the engine's word of a death may take, and then that of its reason. Tools
// wait for both no longer than workload/engine does (250 ms).
const (
	wait = 200 * time.Millisecond
	why  = 40 * time.Millisecond
)

// age is how often the engine has ended so far.
func (d *deaths) age() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.breaks
}

// of says what became of a container that was there at an age of the engine's, or
// nothing where nobody knows. A process in it can have lacked memory alone.
func (d *deaths) of(id string, age int) string {
	deadline, told := time.Now().Add(wait), false
	for ; ; time.Sleep(10 * time.Millisecond) {
		d.mu.Lock()
		oom, how, lost := d.oom[id], d.how[id], d.breaks > age
		d.mu.Unlock()
		if how != "" && !told {
			deadline, told = time.Now().Add(why), true
		}
		late := time.Now().After(deadline)
		switch {
		case oom && (how != "" || late):
			return "ran out of memory (OOM)"
		case lost:
			return "was lost: its Docker engine ended or was started again"
		case how == killed && late:
			return "was killed from outside (exit status 137)"
		case how != "" && how != killed:
			return fmt.Sprintf("ended with exit status %s", how)
		case late:
			return ""
		}
	}
}

// killed is the exit status of SIGKILL, which the engine reports before it says why.
const killed = "137"
