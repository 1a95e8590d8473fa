package engine_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
)

// remains are the objects that a run has left on an engine.
type remains struct {
	t      *testing.T
	c      *client.Client
	run    string
	labels map[string]string
	made   []string
}

// leave makes the objects that are left by a run with the label as its process.
func leave(t *testing.T, d *daemon, run, process string) *remains {
	t.Helper()
	l := &remains{t: t, c: d.Client(t), run: run, labels: map[string]string{engine.Label: run, engine.ProcessLabel: process}}
	e := engine.By(process, engine.NewEngine(d.Client(t), run, image(t))) // never closed
	if _, err := e.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.made = append(l.made, "image localhost/nettoll:"+run)
	if _, err := l.c.NetworkCreate(t.Context(), run+"-net", client.NetworkCreateOptions{Driver: "bridge", Labels: l.labels}); err != nil {
		t.Fatal(err)
	}
	l.made = append(l.made, "network "+run+"-net")
	if _, err := l.c.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: run + "-volume", Labels: l.labels}); err != nil {
		t.Fatal(err)
	}
	l.made = append(l.made, "volume "+run+"-volume")
	return l
}

// container makes a container in the given state.
func (l *remains) container(state string) {
	l.t.Helper()
	name, ctx := l.run+"-"+state, l.t.Context()
	_, err := l.c.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:       name,
		Config:     &container.Config{Image: "localhost/nettoll:" + l.run, Labels: l.labels, Cmd: []string{"agent"}, OpenStdin: true},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(l.run + "-net"), Binds: []string{l.run + "-volume:/v"}},
	})
	if err == nil && state != "created" {
		_, err = l.c.ContainerStart(ctx, name, client.ContainerStartOptions{})
	}
	if err == nil && state == "paused" {
		_, err = l.c.ContainerPause(ctx, name, client.ContainerPauseOptions{})
	}
	if err == nil && state == "exited" {
		_, err = l.c.ContainerKill(ctx, name, client.ContainerKillOptions{Signal: "KILL"})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.made = append(l.made, "container "+name)
}

// manage makes the engine the only node of a swarm.
func (d *daemon) manage(t *testing.T) {
	t.Helper()
	_, err := d.Client(t).SwarmInit(t.Context(), client.SwarmInitOptions{
		ListenAddr: "127.0.0.1:2377", AdvertiseAddr: "127.0.0.1", DefaultAddrPool: []netip.Prefix{netip.MustParsePrefix("198.19.192.0/19")}, SubnetSize: 24,
	})
	iferr.Fatal(t, err)
}

// service makes a service on an overlay of the given name, which it makes as well.
func (l *remains) service(overlay string) {
	l.t.Helper()
	name, ctx := l.run+"-service", l.t.Context()
	i, err := l.c.ImageInspect(ctx, "localhost/nettoll:"+l.run)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.c.NetworkCreate(ctx, overlay, client.NetworkCreateOptions{Driver: "overlay", Labels: l.labels}); err != nil {
		l.t.Fatal(err)
	}
	_, err = l.c.ServiceCreate(ctx, client.ServiceCreateOptions{Spec: swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: name, Labels: l.labels},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{Image: i.ID, Labels: l.labels, Command: []string{"/nettoll", "agent"}, OpenStdin: true},
			Networks:      []swarm.NetworkAttachmentConfig{{Target: overlay}},
		},
		EndpointSpec: &swarm.EndpointSpec{Mode: swarm.ResolutionModeDNSRR},
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.made = append(l.made, "network "+overlay, "service "+name)
	// A container that is removed while the swarm is still making it can stay.
	dockertest.Until(l.t, "the service's container runs", func() bool {
		running, err := l.c.ContainerList(ctx, client.ContainerListOptions{Filters: make(client.Filters).Add("label", engine.Label+"="+l.run)})
		return err == nil && len(running.Items) == 1
	})
}

// names returns kind and name of objects, sorted.
func names(all []engine.Object) (names []string) {
	for _, o := range all {
		names = append(names, o.String())
	}
	slices.Sort(names)
	return names
}

// same checks that the objects are exactly these.
func same(t *testing.T, what string, got []engine.Object, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := names(got); !slices.Equal(got, want) {
		t.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}

// traces returns what runs have on the engine, by run.
func (d *daemon) traces(t *testing.T) map[string]engine.Trace {
	t.Helper()
	all, err := engine.Clean(t.Context(), d.Client(t), true, func(engine.Trace) bool { return true })
	iferr.Fatal(t, err)
	by := map[string]engine.Trace{}
	for _, trace := range all.Kept {
		by[trace.Run] = trace
	}
	return by
}

// goesOn reports whether the command keeps a run by default.
func goesOn(t engine.Trace) bool { return t.State != engine.Ended }

// TestClean checks that runs that have ended leave nothing, in whatever state it is; that runs that are
// going on, or may be, keep everything; and that nobody else's objects are touched.
func TestClean(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	c := d.Client(t)
	theirs := d.strangers(t, "theirs", "strangers-own", "strangers:1")
	cmd, dead := sleeper(t, nil)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	ended := leave(t, d, "ended", dead)
	for _, state := range []string{"created", "running", "paused", "exited"} {
		ended.container(state)
	}
	going := leave(t, d, "going", engine.ThisProcess())
	going.container("running")
	elsewhere := leave(t, d, "elsewhere", "another-boot/1/2/3")
	elsewhere.container("exited")
	resumed := leave(t, d, "resumed", dead)
	resumed.labels[engine.ProcessLabel] = engine.ThisProcess()
	resumed.container("running")
	for run, want := range map[string]engine.State{
		"ended": engine.Ended, "going": engine.Going, "elsewhere": engine.Unknown, "resumed": engine.Going,
	} {
		if got := d.traces(t)[run].State; got != want {
			t.Errorf("run %s: %s, want %s", run, got, want)
		}
	}
	done, err := engine.Clean(t.Context(), c, false, goesOn)
	iferr.Error(t, err)
	same(t, "removed", done.Removed, ended.made...)
	if len(done.Kept) != 3 {
		t.Errorf("kept: %+v", done.Kept)
	}
	left := d.traces(t)
	same(t, "left of ended", left["ended"].Objects)
	for _, l := range []*remains{going, elsewhere, resumed} {
		same(t, "left of "+l.run, left[l.run].Objects, l.made...)
	}
	theirs.check(t, c)

	done, err = engine.Clean(t.Context(), c, false, func(engine.Trace) bool { return false })
	iferr.Error(t, err)
	same(t, "removed at last", done.Removed, slices.Concat(going.made, elsewhere.made, resumed.made)...)
	if left := d.traces(t); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	theirs.check(t, c)
}

// TestCleanReportsWhatStays checks that objects that somebody else uses are kept, and that the others are
// removed all the same.
func TestCleanReportsWhatStays(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	c := d.Client(t)
	l := leave(t, d, "used", "")
	l.container("exited")
	_, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name:       "theirs",
		Config:     &container.Config{Image: "localhost/nettoll:used", Cmd: []string{"agent"}, Labels: map[string]string{engine.Label: ""}, OpenStdin: true},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode("used-net")},
	})
	if err == nil {
		_, err = c.ContainerStart(t.Context(), "theirs", client.ContainerStartOptions{})
	}
	iferr.Fatal(t, err)
	// Containers inherit the labels of an image, but a name that somebody else gave it is not nettoll's.
	if _, err := c.ImageTag(t.Context(), client.ImageTagOptions{Source: "localhost/nettoll:used", Target: "theirs:1"}); err != nil {
		t.Fatal(err)
	}
	done, err := engine.Clean(t.Context(), c, false, func(trace engine.Trace) bool { return trace.Run != "used" })
	if err == nil {
		t.Error("a network in use is removed")
	} else if err := oneLine(err.Error(), "docker: remove network used-net: ", "has active endpoints"); err != nil {
		t.Error(err)
	}
	same(t, "removed", done.Removed, "container used-exited", "image localhost/nettoll:used", "volume used-volume")
	if _, err := c.ImageInspect(t.Context(), "theirs:1"); err != nil {
		t.Error(err)
	}
}

// TestCleanSwarm checks that services are removed before their containers, which they would make again, and
// overlays after the containers have left them.
func TestCleanSwarm(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	d.manage(t)
	c := d.Client(t)
	l := leave(t, d, "swarm", "")
	l.service("swarm-overlay")
	kinds := func() (n map[string]int) {
		n = map[string]int{}
		for _, o := range d.traces(t)["swarm"].Objects {
			n[o.Kind]++
		}
		return n
	}
	done, err := engine.Clean(t.Context(), c, false, func(engine.Trace) bool { return false })
	iferr.Error(t, err)
	removed := slices.DeleteFunc(done.Removed, func(o engine.Object) bool { return o.Kind == "container" })
	same(t, "removed", removed, l.made...)
	// A container that the swarm has removed is listed for a moment.
	dockertest.Until(t, "nothing is left", func() bool { return len(kinds()) == 0 })
	time.Sleep(time.Second) // no task is started again
	if left := kinds(); len(left) > 0 {
		t.Errorf("there again: %v", left)
	}
}
