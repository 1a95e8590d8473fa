// Package shellimage makes an image like those of users, and the agent that its containers receive.
package shellimage

import (
	"os/exec"
	"path/filepath"
	"testing"

	"nettoll/docker/rootfs"
	"nettoll/internal/bootstrap"
	"nettoll/internal/testutil/iferr"
)

// New returns an image whose containers have a shell, and can receive an agent.
func New(t *testing.T) *rootfs.Image {
	t.Helper()
	var in []rootfs.Program
	for _, name := range append([]string{"sh", "sleep"}, bootstrap.Needs()...) {
		path, err := exec.LookPath(name)
		iferr.Fatal(t, err)
		in = append(in, rootfs.Program{File: path, Path: "/bin/" + name})
	}
	image, err := rootfs.New(in...)
	iferr.Fatal(t, err)
	return image
}

// Agents returns the agent as releases have it. Test programs could be agents, too, but take three times as long to send.
func Agents(t *testing.T) *bootstrap.Agents {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nettoll-agent")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "nettoll/cmd/nettoll-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nettoll-agent: %v: %s", err, out)
	}
	return &bootstrap.Agents{File: func(string) (string, error) { return path, nil }}
}
