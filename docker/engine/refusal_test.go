package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// refused checks that an error is one line that contains the words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("it worked, and should say %q", words)
		return
	}
	t.Log(err)
	iferr.Error(t, oneLine(err.Error(), words...))
}

// TestDiskFull checks that an image that does not fit leaves nothing.
func TestDiskFull(t *testing.T) {
	d := startDaemon(t, daemonOptions{size: "12m"})
	h := d.host(t)
	_, err := h.Run(t.Context(), engine.Spec{Mode: "bridge"})
	refused(t, err, "docker: load image: ", "no space left on device")
	c := d.Client(t)
	images, err := c.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil || len(images.Items) > 0 {
		t.Errorf("images are left: %+v, %v", images.Items, err)
	}
	d.isEmpty(t)
}

// TestPoolsExhausted makes more networks and containers than there are addresses.
func TestPoolsExhausted(t *testing.T) {
	d := startDaemon(t, daemonOptions{pool: "base=198.19.232.0/23,size=24"})
	h := d.host(t)
	var err error
	for i := range 3 {
		if _, err = h.Network(t.Context(), engine.NetworkSpec{Name: fmt.Sprint("n", i), Driver: "bridge"}); err != nil {
			break
		}
	}
	refused(t, err, "docker: create bridge network n", "address pool", engine.WhoHasAddresses)

	small := engine.NetworkSpec{Name: "small", Driver: "bridge", Subnet4: netip.MustParsePrefix("198.19.248.0/30")}
	name, err := h.Network(t.Context(), small)
	iferr.Fatal(t, err)
	if _, err := h.Run(t.Context(), engine.Spec{Mode: name}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Run(t.Context(), engine.Spec{Mode: name})
	refused(t, err, "docker: start container h1c2: ", "no available IPv4 addresses")

	other := engine.NetworkSpec{Name: "other", Driver: "bridge", Subnet4: small.Subnet4}
	_, err = h.Network(t.Context(), other)
	refused(t, err, "docker: create bridge network other: ", "overlap", engine.WhoHasAddresses)
	iferr.Error(t, h.Empty(t.Context()))
	d.isEmpty(t)
}

// TestNameCollisions checks that the user's objects with nettoll's names are never touched.
func TestNameCollisions(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	c := d.Client(t)
	theirs := d.strangers(t, named("h1c1"), named("bridge"), "localhost/nettoll:"+run)

	h := d.host(t)
	_, err := h.Run(t.Context(), engine.Spec{Mode: "bridge"})
	refused(t, err, "the engine has an image localhost/nettoll:"+run+" that is not nettoll's: give it another name")
	if _, err := c.ImageTag(t.Context(), client.ImageTagOptions{Source: "localhost/nettoll:" + run, Target: "strangers:2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ImageRemove(t.Context(), "localhost/nettoll:"+run, client.ImageRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	theirs.image = "strangers:2"
	_, err = h.Run(t.Context(), engine.Spec{Mode: "bridge"})
	refused(t, err, "docker: create container h1c1: ", "is already in use")
	_, err = h.Network(t.Context(), engine.NetworkSpec{Name: "bridge", Driver: "bridge"})
	refused(t, err, "docker: create bridge network bridge: the engine has a network "+named("bridge")+" that is not nettoll's: give it another name")
	iferr.Error(t, h.Empty(t.Context()))
	theirs.check(t, c)
}

// TestLeftByACrash checks that objects that the same run left earlier, as before it is resumed, are replaced
// when it makes them again.
func TestLeftByACrash(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	c := d.Client(t)
	labels := map[string]string{engine.Label: run}
	h := d.host(t)
	if _, err := h.Engine.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NetworkCreate(t.Context(), named("bridge"), client.NetworkCreateOptions{Driver: "bridge", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	_, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: named("h1c1"), Config: &container.Config{Image: "localhost/nettoll:" + run, Labels: labels},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	iferr.Fatal(t, err)
	name, err := h.Network(t.Context(), engine.NetworkSpec{Name: "bridge", Driver: "bridge"})
	iferr.Fatal(t, err)
	made, err := h.Run(t.Context(), engine.Spec{Mode: name})
	iferr.Fatal(t, err)
	if got := made[0].FullName(); got != named("h1c1") {
		t.Errorf("the container is %s", got)
	}
	// But a container in use is not replaced.
	if _, err := d.host(t).Run(t.Context(), engine.Spec{Name: "h1c1", Mode: "none"}); err == nil {
		t.Error("a container at work made way")
	}
	if _, err := made[0].Interfaces(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServiceLeftByACrash checks that a service that an earlier process of the run has left does not keep a network in use that
// the run makes again.
func TestServiceLeftByACrash(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	d.manage(t)
	leave(t, d, run, "an earlier one").service(named("overlay"))
	if _, err := d.host(t).Network(t.Context(), engine.NetworkSpec{Name: "overlay", Driver: "overlay", Attachable: true}); err != nil {
		t.Error(err)
	}
	if all, err := d.Client(t).ServiceList(t.Context(), client.ServiceListOptions{}); err != nil || len(all.Items) > 0 {
		t.Errorf("services are left: %+v, %v", all.Items, err)
	}
}

// TestImageLeftByACrash checks that an image that an earlier process of the run has loaded is replaced, since its programs may be
// others, and is removed in the end, as is a network that was not in the way.
func TestImageLeftByACrash(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	c := d.Client(t)
	leave(t, d, run, "an earlier one")
	_, err := c.NetworkCreate(t.Context(), named("beside1-bridge"), client.NetworkCreateOptions{Driver: "bridge", Labels: map[string]string{
		engine.Label: run, engine.ProcessLabel: "an earlier one",
	}})
	iferr.Fatal(t, err)
	id := func() string {
		t.Helper()
		i, err := c.ImageInspect(t.Context(), "localhost/nettoll:"+run)
		iferr.Fatal(t, err)
		return i.ID
	}
	was := id()
	e := engine.NewEngine(d.Client(t), run, image(t))
	var now []string
	for range 2 {
		if _, err := e.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = append(now, id())
	}
	if now[0] == was || now[1] != now[0] {
		t.Errorf("the image was %s, and then %q", was, now)
	}
	iferr.Error(t, e.Close(t.Context()))
	if all, err := c.ImageList(t.Context(), client.ImageListOptions{All: true}); err != nil || len(all.Items) > 0 {
		t.Errorf("images are left: %+v, %v", all.Items, err)
	}
	ours := make(client.Filters).Add("label", engine.Label)
	if all, err := d.Client(t).NetworkList(t.Context(), client.NetworkListOptions{Filters: ours}); err != nil || len(all.Items) > 0 {
		t.Errorf("networks are left: %+v, %v", all.Items, err)
	}
}

// TestEngineGone ends an engine between two networks.
func TestEngineGone(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	h := d.host(t)
	name, err := h.Network(t.Context(), engine.NetworkSpec{Name: "bridge", Driver: "bridge"})
	iferr.Fatal(t, err)
	made, err := h.Run(t.Context(), engine.Spec{Mode: name})
	iferr.Fatal(t, err)
	d.Kill(t)
	down := "Cannot connect to the Docker daemon at unix://" + d.Socket()
	_, err = h.Network(t.Context(), engine.NetworkSpec{Name: "second", Driver: "bridge"})
	refused(t, err, "docker: create bridge network second: "+down)
	_, err = h.Run(t.Context(), engine.Spec{Mode: "bridge"})
	refused(t, err, "docker: inspect image localhost/nettoll:"+run+": "+down)
	_, err = made[0].Interfaces(t.Context())
	refused(t, err, "container h1c1 was lost: its Docker engine, or the connection to it, ended")
	// The engine is back before the removal gives up.
	back := make(chan struct{})
	go func() {
		defer close(back)
		d.Start(t)
	}()
	iferr.Error(t, h.Empty(t.Context()))
	<-back
	d.isEmpty(t)
}

// strangers are objects of somebody else on an engine.
type strangers struct{ container, network, image, volume string }

// strangers makes such objects, with names that may look like nettoll's.
func (d *daemon) strangers(t *testing.T, name, net, image string) *strangers {
	t.Helper()
	s := &strangers{container: name, network: net, image: image, volume: "strangers"}
	c := d.Client(t)
	repository, tag, _ := strings.Cut(image, ":")
	res, err := c.ImageImport(t.Context(), client.ImageImportSource{Source: strings.NewReader(strings.Repeat("\x00", 1024)), SourceName: "-"},
		repository, client.ImageImportOptions{Tag: tag, Changes: []string{"CMD [\"/nothing\"]"}})
	iferr.Fatal(t, err)
	res.Close()
	labels := map[string]string{"run": run, "nettoll": "yes"}
	if _, err := c.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: s.volume, Labels: labels}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NetworkCreate(t.Context(), s.network, client.NetworkCreateOptions{Driver: "bridge", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: s.container, Config: &container.Config{Image: image, Labels: labels},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(s.network), Binds: []string{s.volume + ":/v"}},
	})
	iferr.Fatal(t, err)
	return s
}

// check checks that all of them still exist.
func (s *strangers) check(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := context.Background()
	is, err := c.ContainerInspect(ctx, s.container, client.ContainerInspectOptions{})
	if err != nil || is.Container.NetworkSettings.Networks[s.network] == nil {
		t.Errorf("the stranger's container: %v", err)
	}
	all, err := c.NetworkList(ctx, client.NetworkListOptions{Filters: make(client.Filters).Add("name", s.network)})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("the stranger's network: %v, %v", all.Items, err)
	}
	if _, err := c.ImageInspect(ctx, s.image); err != nil {
		t.Errorf("the stranger's image: %v", err)
	}
	if _, err := c.VolumeInspect(ctx, s.volume, client.VolumeInspectOptions{}); err != nil {
		t.Errorf("the stranger's volume: %v", err)
	}
}

// TestMissingProgram checks that the engine's message in place of a process's output is the reason for its
// end.
func TestMissingProgram(t *testing.T) {
	d := startDaemon(t, daemonOptions{})
	h := d.host(t)
	made, err := h.Run(t.Context(), engine.Spec{Mode: "none"})
	iferr.Fatal(t, err)
	p, err := made[0].Start(t.Context(), platform.Command{Path: "/usr/bin/nowhere"})
	iferr.Fatal(t, err)
	if out, err := io.ReadAll(p.Stdout()); err != nil || len(out) > 0 {
		t.Errorf("it said %q, %v", out, err)
	}
	refused(t, p.Wait(), "exit status 12", "OCI runtime exec failed: ", "/usr/bin/nowhere: no such file or directory")
}
