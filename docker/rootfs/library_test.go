package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shop is a machine's libraries, as far as a test goes: a loader in a folder of its
// own, and a folder that ld.so.conf names.
type shop struct {
	t          *testing.T
	dir        string
	arch       arch
	other      arch
	loader     string
	configured string
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, dir: t.TempDir()}
	s.arch, s.other = native(t)
	s.configured = filepath.Join(s.dir, "configured")
	s.loader = s.library("system/ld.so.1", elfFile{})
	return s
}

// program makes a program, and says that an image is to have it as /usr/bin/NAME.
func (s *shop) program(file string, e elfFile) Program {
	e.arch, e.interp = s.arch, s.loader
	return Tool(filepath.Base(file), e.write(s.t, s.dir, file))
}

func (s *shop) library(file string, e elfFile) string {
	if e.arch == (arch{}) {
		e.arch = s.arch
	}
	e.library = true
	return e.write(s.t, s.dir, file)
}

// image gives the files of an image; paths below the shop begin with a ~.
func (s *shop) image(programs ...Program) (files []string, err error) {
	b := &builder{tree: tree{}, arch: s.arch, configured: []string{s.configured}}
	for _, p := range programs {
		if err := b.program(p); err != nil {
			return nil, err
		}
	}
	for _, name := range b.tree.names() {
		if !b.tree[name].mode.IsDir() {
			files = append(files, strings.Replace(name, s.dir, "~", 1))
		}
	}
	slices.Sort(files)
	return files, nil
}

func (s *shop) want(p Program, libraries ...string) {
	s.t.Helper()
	got, err := s.image(p)
	if err != nil {
		s.t.Error(err)
		return
	}
	want := append(libraries, p.Path, "~/system/ld.so.1")
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("the image has %q, want %q", got, want)
	}
}

func TestLibrariesOfTheSystemGoBesideTheLoader(t *testing.T) {
	s := newShop(t)
	s.library("configured/libone.so.1", elfFile{needed: []string{"libtwo.so.2", "ld.so.1"}})
	s.library("system/libtwo.so.2", elfFile{})
	s.want(s.program("bin/p", elfFile{needed: []string{"libone.so.1"}}),
		"~/system/libone.so.1", "~/system/libtwo.so.2")
}

// TestOrigin moves a program and what lies relative to it.
func TestOrigin(t *testing.T) {
	s := newShop(t)
	s.library("opt/lib/own/libown.so.1", elfFile{needed: []string{"libdeep.so.1"}, runpath: "$ORIGIN/deep"})
	s.library("opt/lib/own/deep/libdeep.so.1", elfFile{})
	s.library("opt/lib/libslash.so.1", elfFile{})
	if err := os.Symlink(filepath.Join(s.dir, "opt/bin/p"), filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	p := s.program("opt/bin/p", elfFile{
		needed: []string{"libown.so.1", "$ORIGIN/../lib/libslash.so.1"}, runpath: ":relative:/nowhere:${ORIGIN}/../lib/own",
	})
	want := []string{"/usr/lib/own/libown.so.1", "/usr/lib/own/deep/libdeep.so.1", "/usr/lib/libslash.so.1"}
	s.want(p, want...)
	p.File = filepath.Join(s.dir, "link")
	s.want(p, want...)
}

// TestRunPathIsForDirectNeeds, and an RPATH for those of libraries as well.
func TestRunPathIsForDirectNeeds(t *testing.T) {
	s := newShop(t)
	own := filepath.Join(s.dir, "own")
	s.library("own/libdirect.so.1", elfFile{needed: []string{"libindirect.so.1"}})
	s.library("own/libindirect.so.1", elfFile{})
	needed := []string{"libdirect.so.1"}
	s.want(s.program("bin/p", elfFile{needed: needed, rpath: own}), "~/own/libdirect.so.1", "~/own/libindirect.so.1")

	p := s.program("bin/q", elfFile{needed: needed, rpath: own, runpath: own})
	_, err := s.image(p)
	want := p.File + " needs the library libindirect.so.1 (for libdirect.so.1), which is not on this machine; install the package that has it"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestRunPathToTheSystem finds the library where the loader looks anyway, unless it is
// told a file.
func TestRunPathToTheSystem(t *testing.T) {
	s := newShop(t)
	s.library("system/libone.so.1", elfFile{})
	if err := os.Symlink("system", filepath.Join(s.dir, "alias")); err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(s.dir, "alias")
	s.want(s.program("bin/p", elfFile{needed: []string{"libone.so.1"}, runpath: alias}), "~/system/libone.so.1")
	s.want(s.program("bin/q", elfFile{needed: []string{alias + "/libone.so.1"}}), "~/alias/libone.so.1")
}

// TestSearchPassesOver what the loader passes over: libraries of other architectures,
// and texts for linkers.
func TestSearchPassesOver(t *testing.T) {
	s := newShop(t)
	s.library("configured/libone.so.1", elfFile{arch: s.other})
	s.library("system/libone.so.1", elfFile{})
	if err := os.WriteFile(filepath.Join(s.configured, "libtwo.so"), []byte("GROUP ( libtwo.so.2 )"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.library("system/libtwo.so", elfFile{})
	s.want(s.program("bin/p", elfFile{needed: []string{"libone.so.1", "libtwo.so"}}), "~/system/libone.so.1", "~/system/libtwo.so")
}

// TestLibrariesByName are there with the C library, where the machine has them.
func TestLibrariesByName(t *testing.T) {
	s := newShop(t)
	s.library("configured/libgcc_s.so.1", elfFile{})
	s.library("configured/libc.so.6", elfFile{})
	s.want(s.program("bin/p", elfFile{needed: []string{"libc.so.6"}}), "~/system/libc.so.6", "~/system/libgcc_s.so.1")
	s.want(s.program("bin/q", elfFile{}))
}

func TestTwoLibrariesOfOneName(t *testing.T) {
	s := newShop(t)
	p := elfFile{needed: []string{"libone.so.1"}, runpath: "$ORIGIN/../lib"}
	first, second := s.program("a/bin/p", p), s.program("b/bin/q", p)
	one := s.library("a/lib/libone.so.1", elfFile{})
	s.library("b/lib/libone.so.1", elfFile{})
	if _, err := s.image(first, second); err != nil {
		t.Errorf("the same library in two places: %v", err)
	}
	other := s.library("b/lib/libone.so.1", elfFile{needed: []string{"ld.so.1"}})
	_, err := s.image(first, second)
	want := "/usr/lib/libone.so.1 would be both " + one + " (for " + first.File + ") and " + other + " (for " + second.File +
		"): give them images of their own"
	if err == nil || strings.ReplaceAll(err.Error(), "/bin/../lib", "/lib") != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestMissing(t *testing.T) {
	s := newShop(t)
	p := s.program("bin/p", elfFile{needed: []string{"libnone.so.1"}})
	_, err := s.image(p)
	want := p.File + " needs the library libnone.so.1, which is not on this machine; install the package that has it"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	s.loader = filepath.Join(s.dir, "none.so.1")
	if _, err = s.image(s.program("bin/q", elfFile{})); err == nil || !strings.Contains(err.Error(), "needs the loader "+s.loader+", which is not") {
		t.Errorf("without a loader: %v", err)
	}
}

func TestConfigured(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ld.so.conf":    "# libraries\n/first # of all\ninclude conf.d/*.conf\nhwcap 1 nosegneg\n/last=libc6\n",
		"conf.d/b.conf": "/third\ninclude " + dir + "/ld.so.conf\n",
		"conf.d/a.conf": "/second,/also\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := configured(filepath.Join(dir, "ld.so.conf"))
	if want := []string{"/first", "/second", "/also", "/third", "/last"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := configured(filepath.Join(dir, "none")); got != nil {
		t.Errorf("no file names %q", got)
	}
}
