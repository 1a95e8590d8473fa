package engine_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
)

// daemon is an engine of the user.
type daemon struct{ *dockertest.Engine }

// daemonOptions are the settings of a daemon.
type daemonOptions struct {
	size string // of its tmpfs, for example 64m
	pool string // from which it takes the addresses of networks
}

func startDaemon(t *testing.T, o daemonOptions) *daemon {
	t.Helper()
	return &daemon{dockertest.Start(t, o.size, "--storage-driver", "overlay2", "--bip", "198.19.240.1/21",
		"--default-address-pool", cmp.Or(o.pool, "base=198.19.232.0/21,size=24"))}
}

// isEmpty checks that nothing on the engine has the label, except the image, which is removed when the
// engine is closed. A container that has been removed is listed for a moment.
func (d *daemon) isEmpty(t *testing.T) {
	t.Helper()
	c, left := d.Client(t), []string{"unknown"}
	for deadline := time.Now().Add(dockertest.Patience); len(left) > 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		all, err := engine.Clean(t.Context(), c, true, func(engine.Trace) bool { return false })
		iferr.Fatal(t, err)
		left = nil
		for _, o := range all.Removed {
			if o.Kind != "image" {
				left = append(left, o.String())
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
		all, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true})
		for _, one := range all.Items {
			t.Logf("%v: %s (%s), networks %v", one.Names, one.Status, one.State, one.NetworkSettings)
		}
		said, _ := os.ReadFile(d.Dir + "/log")
		t.Logf("%v; dockerd said: %s", err, said[max(0, len(said)-8000):])
	}
}

// oneLine checks that an error is one clear line that contains the words.
func oneLine(text string, words ...string) error {
	for _, foreign := range []string{"\n", "goroutine", "panic", "http://", "%2F", "context deadline"} {
		if strings.Contains(text, foreign) {
			return fmt.Errorf("%q has %q in it", text, foreign)
		}
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			return fmt.Errorf("%q does not say %q", text, w)
		}
	}
	return nil
}
