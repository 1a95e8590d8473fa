package nettoll_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// pkg is a package of the project, without its tests.
type pkg struct {
	dir      string
	imports  map[string]string // packages of the project, relative, each with a file that imports it
	external map[string]string
	comments []string // files with a package comment
}

const module = "nettoll"

func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	all := map[string]*pkg{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(p))
		if all[dir] == nil {
			all[dir] = &pkg{dir: dir, imports: map[string]string{}, external: map[string]string{}}
		}
		k := all[dir]
		if f.Doc != nil {
			k.comments = append(k.comments, p)
		}
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			if own, ok := strings.CutPrefix(name, module+"/"); ok {
				k.imports[own] = p
			} else {
				k.external[name] = p
			}
		}
		return nil
	})
	iferr.Fatal(t, err)
	if len(all) < 20 {
		t.Fatalf("found only %d packages", len(all))
	}
	return all
}

// driver returns the family of drivers that a package belongs to, if any: packages below network, workload and
// platform, except for the suites of their tests.
func driver(dir string) (family string, ok bool) {
	for _, f := range []string{"platform", "network", "workload"} {
		if rest, found := strings.CutPrefix(dir, f+"/"); found && !strings.HasSuffix(strings.Split(rest, "/")[0], "test") {
			return f, true
		}
	}
	return "", false
}

func isTestSupport(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") || dir == "internal/testutil" || path.Dir(dir) == "internal/testutil"
}

// floors are the packages from the ground up: a package imports only from floors below its own. Drivers are found
// by driver; they are on the last floor, and only programs and the support of tests import them.
var floors = []string{
	"record internal/wrap internal/await internal/atonce internal/oneline internal/undo internal/beside internal/origin internal/emulated internal/cgroup internal/netns",
	"platform report/plot internal/nl/nft",
	"agent network reference plan internal/nl internal/keeper internal/nsexec docker/rootfs",
	"workload sampler analysis docker/dial internal/bootstrap internal/uplink",
	"internal/program internal/remote",
	"internal/daemon",
	"docker/engine internal/plumb",
	"internal/bird internal/felix internal/flanneld",
	"kube",
	"runner report",
}

// written are the packages that compute from recorded data only, and do not depend on a machine. They share record, plan and
// internal/oneline with all others.
var written = []string{"record", "plan", "reference", "analysis", "report", "report/plot"}

// contracts are the packages that the runner may import.
var contracts = []string{"agent", "internal/atonce", "internal/await", "internal/emulated", "internal/oneline", "internal/wrap", "network", "plan", "platform", "record", "sampler", "workload"}

// TestImports checks the direction of imports against docs/architecture.md.
func TestImports(t *testing.T) {
	floor := map[string]int{}
	for i, names := range floors {
		for _, dir := range strings.Fields(names) {
			floor[dir] = i
		}
	}
	for dir, p := range packages(t) {
		if isTestSupport(dir) || isProgram(dir) {
			continue
		}
		own, known := floor[dir]
		family, isDriver := driver(dir)
		if isDriver {
			own = len(floors) - 1
		} else if !known {
			t.Errorf("%s is not in the architecture: give it its place in docs/architecture.md and here", dir)
		}
		for i, file := range p.imports {
			below, known := floor[i]
			_, importsDriver := driver(i)
			switch {
			case isDriver && importsDriver:
				t.Errorf("%s: a driver of %s imports the driver %s", file, family, i)
			case !known || below >= own:
				t.Errorf("%s: %s imports %s, which is not below it", file, dir, i)
			case slices.Contains(written, dir) != slices.Contains(written, i) && i != "record" && i != "plan" && i != "internal/oneline":
				t.Errorf("%s: %s imports %s, and only one of them computes from what is written down", file, dir, i)
			case dir == "runner" && !slices.Contains(contracts, i):
				t.Errorf("%s: the runner imports %s, which is not a contract", file, i)
			}
		}
	}
}

// TestRecheckIsIndependent checks that the code that recomputes reports shares nothing with the code that wrote
// them.
func TestRecheckIsIndependent(t *testing.T) {
	files, err := filepath.Glob("report/recheck/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		iferr.Fatal(t, err)
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			if first, _, _ := strings.Cut(name, "/"); first == module || strings.Contains(first, ".") {
				t.Errorf("%s imports %s", file, name)
			}
		}
	}
}

// TestKernelDoors checks that only the packages named here use an interface of the kernel, start a program, or
// use the client libraries of Kubernetes.
func TestKernelDoors(t *testing.T) {
	for door, keepers := range map[string][]string{
		"github.com/vishvananda/netns":      {},
		"github.com/google/nftables":        {"internal/nl", "internal/nl/nft"},
		"github.com/vishvananda/netlink/nl": {"internal/nl"},
		"golang.zx2c4.com/wireguard/wgctrl": {"internal/nl"},
		"k8s.io/client-go/rest":             {"kube"},
		"k8s.io/client-go/tools/clientcmd":  {"kube"},
		"k8s.io/client-go/kubernetes":       {}, // types of all its objects, 17 MB
	} {
		for dir, p := range packages(t) {
			if file, ok := p.external[door]; ok && !slices.Contains(keepers, dir) {
				t.Errorf("%s: only %v may import %s", file, keepers, door)
			}
		}
	}
	for call, keepers := range map[string][]string{
		"unix.Setns(":       {"internal/netns"},
		"netlink.NewHandle": {"internal/nl"},
		"WithNetNSFd(":      {}, // on whichever thread it is called; see netns
		"exec.Command":      {"platform/lab", "docker/dial", "docker/rootfs", "internal/keeper", "internal/nsexec", "internal/program", "bench"},
	} {
		for dir := range packages(t) {
			files, err := filepath.Glob(filepath.Join(dir, "*.go"))
			iferr.Fatal(t, err)
			for _, f := range files {
				b, err := os.ReadFile(f)
				iferr.Fatal(t, err)
				if !strings.HasSuffix(f, "_test.go") && !isTestSupport(dir) && strings.Contains(string(b), call) && !slices.Contains(keepers, dir) {
					t.Errorf("%s: only %v may call %s", f, keepers, strings.TrimSuffix(call, "("))
				}
			}
		}
	}
}

// TestPackageComments checks that each package has exactly one package comment.
func TestPackageComments(t *testing.T) {
	for dir, p := range packages(t) {
		if len(p.comments) != 1 {
			t.Errorf("%s has %d package comments: %v", dir, len(p.comments), p.comments)
		}
	}
}

// TestFolders checks that the architecture document names every top-level folder.
func TestFolders(t *testing.T) {
	b, err := os.ReadFile("docs/architecture.md")
	iferr.Fatal(t, err)
	entries, err := os.ReadDir(".")
	iferr.Fatal(t, err)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" && e.Name() != "dist" && !strings.Contains(string(b), "\n    "+e.Name()+"/") {
			t.Errorf("docs/architecture.md does not name the folder %s/", e.Name())
		}
	}
}

// TestDocsNameFiles checks that the files of the project that documents name exist.
func TestDocsNameFiles(t *testing.T) {
	named := regexp.MustCompile("`((?:agent|analysis|bench|cmd|docker|docs|internal|kube|network|plan|platform|record|reference|release|report|runner|sampler|workload)/[\\w./-]+)`")
	docs, err := filepath.Glob("docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatal(docs, err)
	}
	for _, doc := range append(docs, "README.md", "CONTRIBUTING.md") {
		b, err := os.ReadFile(doc)
		iferr.Fatal(t, err)
		for _, name := range named.FindAllSubmatch(b, -1) {
			if _, err := os.Stat(string(name[1])); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}

// TestFileNames checks that no file is a catch-all.
func TestFileNames(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "manager", "more", "extra", "other", "rest", "stuff"}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != "." {
			return fs.SkipDir
		}
		if name := strings.TrimSuffix(strings.TrimSuffix(d.Name(), ".go"), "_test"); slices.Contains(drawers, name) {
			t.Errorf("%s is a drawer: name it by what it holds", p)
		}
		return nil
	})
	iferr.Fatal(t, err)
}

// isProgram reports whether a package wires others together: a program, or the list of requests that agents can
// answer, which all programs share.
func isProgram(dir string) bool {
	return strings.HasPrefix(dir, "cmd/") || dir == "bench" || dir == "release" || dir == "internal/handlers"
}
