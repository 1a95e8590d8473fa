// Package shellimage makes an image like those of users.
package shellimage

import (
	"os/exec"
	"testing"

	"nettoll/docker/rootfs"
	"nettoll/internal/bootstrap"
)

// New returns an image whose containers have a shell, and can receive an agent.
func New(t *testing.T) *rootfs.Image {
	t.Helper()
	var in []rootfs.Program
	for _, name := range append([]string{"sh", "sleep"}, bootstrap.Needs()...) {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, rootfs.Program{File: path, Path: "/bin/" + name})
	}
	image, err := rootfs.New(in...)
	if err != nil {
		t.Fatal(err)
	}
	return image
}
