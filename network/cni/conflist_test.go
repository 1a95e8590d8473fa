package cni_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network/cni"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net.conflist")
	iferr.Fatal(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func TestConflistsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "FILE:1:1: not JSON; check commas, quotes and brackets here",
		"{\n  \"name\": \"a\",\n  oops\n}": "FILE:3:3: not JSON; check commas, quotes and brackets here",
		"{\n\t\"name\": \"a\",\n}":         "FILE:3:1: not JSON; check commas, quotes and brackets here",
		`{"name": "a"`:                     "FILE:1:12: not JSON; check commas, quotes and brackets here",
		`["a"]`:                            "FILE: a conflist is a JSON object, and this is a JSON array",
		`null`:                             "FILE: no name",
		`{}`:                               "FILE: no name",
		`{"name": 3}`:                      "FILE: invalid name type float64",
		`{"name": "a", "type": "bridge"}`:  `FILE: it is the configuration of one plugin and no list: put it into {"cniVersion": …, "name": …, "plugins": [ … ]}`,
		`{"name": "a b", "plugins": [{"type": "p"}]}`:                            `FILE: the name "a b": letters, digits and ". _ -" are allowed, and a letter or digit comes first`,
		`{"name": "a:b", "plugins": [{"type": "p"}]}`:                            `FILE: the name "a:b": letters, digits and ". _ -" are allowed, and a letter or digit comes first`,
		`{"name": "../a", "plugins": [{"type": "p"}]}`:                           `FILE: the name "../a": letters, digits and ". _ -" are allowed, and a letter or digit comes first`,
		`{"name": "", "plugins": [{"type": "p"}]}`:                               `FILE: the name "": letters, digits and ". _ -" are allowed, and a letter or digit comes first`,
		`{"name": "a", "plugins": []}`:                                           "FILE: no plugins in list",
		`{"name": "a"}`:                                                          "FILE: it names no plugin",
		`{"name": "a", "plugins": 1}`:                                            "FILE: invalid 'plugins' type float64",
		`{"name": "a", "plugins": [{}]}`:                                         "FILE: failed to parse plugin config 0: error parsing configuration: missing 'type'",
		`{"name": "a", "cniVersion": "9.0.0", "plugins": [{"type": "p"}]}`:       `FILE: cniVersion "9.0.0" is unknown; known are 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0`,
		`{"name": "a", "cniVersion": 1, "plugins": [{"type": "p"}]}`:             "FILE: invalid cniVersion type float64",
		`{"name": "a", "plugins": [{"type": "p"}]}` + strings.Repeat(" ", 1<<20): "FILE: larger than 1048576 bytes: it is not a conflist",
	} {
		file := write(t, text)
		_, err := cni.Load(file)
		if err == nil || strings.ReplaceAll(err.Error(), file, "FILE") != want {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

func TestConflistsThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file or directory",
		dir:                        "it is not a regular file",
	} {
		if _, err := cni.Load(file); err == nil || err.Error() != file+": "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// By the specification, a folder that has the name of the network can hold further plugins.
func TestConflistHasPluginsOfItsFolder(t *testing.T) {
	file := write(t, `{"name": "net", "cniVersion": "1.1.0", "plugins": [{"type": "first"}]}`)
	dir := filepath.Join(filepath.Dir(file), "net")
	iferr.Fatal(t, os.Mkdir(dir, 0o755))
	iferr.Fatal(t, os.WriteFile(filepath.Join(dir, "10-second.conf"), []byte(`{"type": "second"}`), 0o644))
	list, err := cni.Load(file)
	iferr.Fatal(t, err)
	if got := list.Types(); list.Name() != "net" || !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("%s: %q", list.Name(), got)
	}
}

func TestPluginsThatAreNotThere(t *testing.T) {
	in := cni.Folders{script(t, "there", "exit 1"), "/nowhere"}
	flat := write(t, "")
	iferr.Fatal(t, os.WriteFile(filepath.Join(in[0], "flat"), nil, 0o644))
	for text, want := range map[string]string{
		`{"name": "a", "plugins": [{"type": "there"}]}`:                                 "",
		`{"name": "a", "plugins": [{"type": "brigde"}]}`:                                flat + ": the CNI plugin brigde: not supported here (needs the program brigde): it is in none of " + in.String(),
		`{"name": "a", "plugins": [{"type": "there", "ipam": {"type": "host-lokal"}}]}`: flat + ": the CNI plugin host-lokal: not supported here (needs the program host-lokal): it is in none of " + in.String(),
		`{"name": "a", "plugins": [{"type": "../there"}]}`:                              flat + ": the CNI plugin ../there: not supported here (needs the program ../there): it is in none of " + in.String(),
		`{"name": "a", "plugins": [{"type": "flat"}]}`:                                  flat + ": the CNI plugin flat: not supported here (needs the program flat): " + filepath.Join(in[0], "flat") + " cannot be executed",
	} {
		list, err := cni.Parse(flat, []byte(text))
		iferr.Fatal(t, err)
		got := ""
		if err := cni.New(list, in).Probe(t.Context(), nil); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name": "a", "cniVersion": "1.0.0", "plugins": [{"type": "p", "ipam": {"type": "host-local"}}]}`))
	f.Add([]byte(`{"name": "a", "cniVersions": ["0.4.0", 1], "disableCheck": "true", "plugins": [null]}`))
	f.Add([]byte("{\n\"name\": \"a\", x}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := cni.Parse("/nowhere/net.conflist", text)
		switch {
		case err != nil && (!strings.HasPrefix(err.Error(), "/nowhere/net.conflist:") || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q", err)
		case err == nil && (list.Name() == "" || len(list.Types()) == 0):
			t.Errorf("%q: %+v", text, list)
		}
	})
}
