package rootfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// TestStatic makes an image for another kind of machine, and checks that it contains nothing of this one.
func TestStatic(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	iferr.Fatal(t, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644))
	program := func(arch string) Program {
		file := filepath.Join(dir, arch)
		build := exec.Command("go", "build", "-o", file, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return Program{File: file, Path: "/" + arch}
	}
	foreign := "arm64"
	if strings.Contains(mustOpen(t, selfFile).arch.String(), "AARCH64") {
		foreign = "amd64"
	}
	p := program(foreign)
	image, err := Static(map[string]string{"/usr/share/doc/x": "words\n"}, p)
	iferr.Fatal(t, err)
	var b bytes.Buffer
	iferr.Fatal(t, image.Stream(&b))
	got := strings.Join(image.tree.names(), " ")
	const want = "/dev /etc /etc/group /etc/nsswitch.conf /etc/passwd /proc /root /run /sys /tmp /usr /usr/share /usr/share/doc /usr/share/doc/x /var /var/tmp"
	if want := strings.Replace(" "+want, " /dev", " /"+foreign+" /dev", 1)[1:]; got != want {
		t.Errorf("the image has %s, want %s", got, want)
	}
	other := map[string]string{"arm64": "amd64", "amd64": "arm64"}[foreign]
	if _, err := Static(nil, p, program(other)); err == nil || !strings.Contains(err.Error(), " is for ") {
		t.Errorf("programs for two machines: %v", err)
	}
	if sh := "/bin/sh"; mustOpen(t, sh).interp != "" {
		if _, err := Static(nil, Program{File: sh, Path: sh}); err == nil || !strings.Contains(err.Error(), "/bin/sh needs shared libraries") {
			t.Errorf("a program with libraries: %v", err)
		}
	}
}

func mustOpen(t *testing.T, file string) *object {
	t.Helper()
	o, err := open(file)
	iferr.Fatal(t, err)
	return o
}
