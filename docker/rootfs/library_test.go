package rootfs

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// altered returns a copy of a program with altered contents.
func altered(t *testing.T, file string, alter func([]byte) []byte) string {
	t.Helper()
	b, err := os.ReadFile(file)
	iferr.Fatal(t, err)
	name := filepath.Join(t.TempDir(), filepath.Base(file))
	iferr.Fatal(t, os.WriteFile(name, alter(b), 0o755))
	return name
}

// with returns a function that overwrites bytes at an offset.
func with(at int, bytes ...byte) func([]byte) []byte {
	return func(b []byte) []byte { return slices.Replace(b, at, at+len(bytes), bytes...) }
}

// TestLibraries checks that libraries are next to the loader, under the names by which they are looked up,
// together with those that the C library opens by name; or that an error names what is missing.
func TestLibraries(t *testing.T) {
	file, ok := here(t, "iperf3")
	if !ok {
		t.Skip("not installed: iperf3")
	}
	m := image(t, tool("iperf3", file))
	loader, err := filepath.EvalSymlinks(mustOpen(t, file).interp)
	iferr.Fatal(t, err)
	for _, name := range append([]string{"libiperf.so.0", cLibrary}, byName...) {
		beside := filepath.Join(filepath.Dir(loader), name)
		if _, err := os.Stat(beside); errors.Is(err, os.ErrNotExist) && slices.Contains(byName, name) {
			continue
		}
		if _, ok := m.tree[beside]; !ok {
			t.Errorf("the image has no %s, but %q", beside, m.tree.names())
		}
	}
	wants := func(library string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("libiperf.so.0"), []byte(library)) }
	}
	missing := altered(t, file, wants("libnonef.so.0"))
	_, err = New(tool("iperf3", missing))
	for _, want := range []string{missing + " needs a library that cannot be loaded on this machine; install", "libnonef.so.0"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	without := altered(t, file, func(b []byte) []byte { return bytes.Replace(b, []byte("/ld-linux-"), []byte("/ld-linuy-"), 1) })
	if _, err := New(tool("iperf3", without)); err == nil || !strings.Contains(err.Error(), "which is not on this machine; install it") {
		t.Errorf("without a loader: %v", err)
	}
}

// TestListedLibraries checks which file is taken for each line of a loader's list.
func TestListedLibraries(t *testing.T) {
	for line, want := range map[string][2]string{
		"\tlibf.so => /opt/my libs/libf.so (0x00007f0000000000)\n":             {"libf.so", "/opt/my libs/libf.so"},
		"\t/opt/libs (old)/libf.so (0x00007f0000000000)\n":                     {"/opt/libs (old)/libf.so", "/opt/libs (old)/libf.so"},
		"\tlinux-vdso.so.1 (0x00007ffc00000000)\n":                             {"linux-vdso.so.1", "linux-vdso.so.1"},
		"\tlibnone.so => not found\n":                                          {"libnone.so", "not found"},
		"\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f0000000000)": {"libc.musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1"},
	} {
		if name, file := loads(line); name != want[0] || file != want[1] {
			t.Errorf("%q: %q, %q", line, name, file)
		}
	}
}

// TestLoaderThatGoesOn uses a script in place of an older loader, which lists missing libraries and exits
// successfully.
func TestLoaderThatGoesOn(t *testing.T) {
	loader := filepath.Join(t.TempDir(), "ld.so")
	iferr.Fatal(t, os.WriteFile(loader, []byte("#!/bin/sh\necho 'libnone.so.1 => not found'\n"), 0o755))
	err := (&builder{tree: tree{}}).libraries("/p", loader)
	if want := "/p needs the library libnone.so.1, which is not on this machine; install the package that has it"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestBrokenPrograms(t *testing.T) {
	for what, c := range map[string]struct {
		b    string
		want string
	}{
		"nothing": {"", errNotELF.Error()},
		"header":  {elf.ELFMAG + strings.Repeat("\x01", 16), "broken ELF file"},
	} {
		if o, err := read(strings.NewReader(c.b)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", what, o, err, c.want)
		}
	}
}

// TestFiles starts a program from the files that Files returns: by its loader, with each library at a path that does not
// contain its name.
func TestFiles(t *testing.T) {
	file, ok := here(t, "iperf3")
	if !ok {
		t.Skip("not installed: iperf3")
	}
	all, err := Files(file)
	iferr.Fatal(t, err)
	dir, at := t.TempDir(), []string(nil)
	for i, file := range all {
		b, err := os.ReadFile(file)
		iferr.Fatal(t, err)
		at = append(at, filepath.Join(dir, strconv.Itoa(i)))
		iferr.Fatal(t, os.WriteFile(at[i], b, 0o755))
	}
	cmd := exec.Command(at[0], "--inhibit-cache", "--preload", strings.Join(at[2:], ":"), at[1], "--version")
	cmd.Env = []string{"LD_DEBUG=files"}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "iperf 3.") {
		t.Errorf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if _, opened, ok := strings.Cut(line, "calling init: "); ok && !strings.HasPrefix(opened, dir) {
			t.Errorf("it loads %s", opened)
		}
	}
	if alone, ok := here(t, "busybox"); ok && mustOpen(t, alone).interp == "" {
		if all, err := Files(alone); err != nil || !slices.Equal(all, []string{alone}) {
			t.Errorf("a program without libraries: %q, %v", all, err)
		}
	}
	script := filepath.Join(dir, "script")
	iferr.Fatal(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	if _, err := Files(script); err == nil || !strings.Contains(err.Error(), "is a script (#!/bin/sh)") {
		t.Errorf("a script: %v", err)
	}
}
