package rootfs

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

func self(t *testing.T, path string) Program {
	t.Helper()
	file, err := os.Executable()
	iferr.Fatal(t, err)
	return Program{File: file, Path: path}
}

func image(t *testing.T, programs ...Program) *Image {
	t.Helper()
	m, err := New(programs...)
	iferr.Fatal(t, err)
	return m
}

func stream(t *testing.T, m *Image) []byte {
	t.Helper()
	var b bytes.Buffer
	iferr.Fatal(t, m.Stream(&b))
	return b.Bytes()
}

func TestStream(t *testing.T) {
	b := stream(t, image(t, self(t, AgentPath), self(t, "/usr/bin/it")))
	var names []string
	headers := map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		iferr.Fatal(t, err)
		names = append(names, h.Name)
		headers[h.Name] = h
		if h.ModTime.Unix() != 0 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%s is of %v, %d:%d %s:%s", h.Name, h.ModTime, h.Uid, h.Gid, h.Uname, h.Gname)
		}
		parent, _ := filepath.Split(strings.TrimSuffix(h.Name, "/"))
		if parent != "" && headers[parent] == nil {
			t.Errorf("%s comes before the folder that it is in", h.Name)
		}
	}
	for name, mode := range map[string]int64{
		"tmp/": 0o1777, "var/tmp/": 0o1777, "proc/": 0o555, "sys/": 0o555, "dev/": 0o755, "run/": 0o755, "usr/": 0o755,
		"etc/passwd": 0o644, "etc/group": 0o644, "etc/nsswitch.conf": 0o644, "nettoll": 0o755, "usr/bin/it": 0o755,
	} {
		if h := headers[name]; h == nil || h.Mode != mode {
			t.Errorf("%s is %+v, want mode %o", name, h, mode)
		}
	}
	if len(names) != len(headers) {
		t.Errorf("names are there twice: %q", names)
	}
}

// TestStreamIsOfTheContents checks that the stream depends only on contents, not on names, times or the
// order on this machine.
func TestStreamIsOfTheContents(t *testing.T) {
	same := func(b []byte) []byte { return b }
	first, second := altered(t, os.Args[0], same), altered(t, os.Args[0], same)
	m := image(t, tool("x", first), tool("y", second))
	for range 2 {
		if !bytes.Equal(stream(t, m), stream(t, image(t, tool("y", first), tool("x", second)))) {
			t.Error("the same programs make two streams")
		}
	}
}

// TestChanged checks that a file that has changed since it was read is not written.
func TestChanged(t *testing.T) {
	file := altered(t, os.Args[0], func(b []byte) []byte { return b })
	was, err := os.ReadFile(file)
	iferr.Fatal(t, err)
	m := image(t, tool("a", file))
	for what, now := range map[string][]byte{
		"other bytes": append(slices.Clone(was[:100]), append([]byte{was[100] + 1}, was[101:]...)...),
		"shorter":     was[:100],
	} {
		iferr.Fatal(t, os.WriteFile(file, now, 0o755))
		if err := m.Stream(io.Discard); !errors.Is(err, errChanged) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestStreamSaysWhyItFails(t *testing.T) {
	full := errors.New("full")
	err := image(t, self(t, AgentPath)).Stream(writer(func([]byte) (int, error) { return 0, full }))
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		iferr.Fatal(t, os.WriteFile(name, []byte(text), 0o755))
		return name
	}
	const machine, entry = 18, 24 // offsets of these fields in the header of a 64-bit ELF file
	good := altered(t, os.Args[0], func(b []byte) []byte { return append(b, "more"...) })
	script, text := file("script", "#!/usr/bin/perl -w\nprint 1;\n"), file("text", "x")
	foreign := altered(t, good, with(machine, byte(elf.EM_SPARC), 0))
	library := altered(t, good, with(entry, make([]byte, 8)...))
	here := mustOpen(t, good).arch
	for want, programs := range map[string][]Program{
		`there is no program "` + dir + `/none"; install it, or do without it`:                                            {tool("none", dir+"/none")},
		script + " is a script (#!/usr/bin/perl -w), and only programs can be taken along: name the program that it runs": {tool("script", script)},
		text + " is not a program: it is not an ELF file":                                                                 {tool("text", text)},
		dir + " is not a regular file":                                                                                    {tool("dir", dir)},
		foreign + " is for SPARC, but this machine is " + here.String() + ": give a build for this machine":               {tool("foreign", foreign)},
		library + " is not a program: it is a library or an object file":                                                  {tool("library", library)},
		"/usr/bin/a would be both " + good + " and " + os.Args[0] + ": put them into separate images":                     {tool("a", good), tool("a", os.Args[0])},
		"/usr/bin would be both a folder and " + good:                                                                     {{good, "/usr/bin"}, tool("a", good)},
		"/tmp would be both a folder and " + good:                                                                         {{good, "/tmp"}},
		"/etc/passwd would be both " + good + " and a file of every image: put them into separate images":                 {{good, "/etc/passwd"}},
		`"/usr/bin/../x" is not a path of a file in an image: give an absolute path without . and ..`:                     {tool("../x", good)},
		`"nettoll" is not a path of a file in an image: give an absolute path without . and ..`:                           {{good, "nettoll"}},
	} {
		_, err := New(programs...)
		if err == nil || err.Error() != "rootfs: "+want {
			t.Errorf("%v\n, want %s", err, want)
		}
	}
}
