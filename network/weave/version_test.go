package weave_test

import (
	"errors"
	"strings"
	"testing"

	"nettoll/network/weave"
	"nettoll/platform"
	"nettoll/platform/lab"
)

func TestVersions(t *testing.T) {
	for said, want := range map[string]string{
		"weave router 1.9.8":                "it is of the version 1.9.8, and 2.x is known to work",
		"weave router (unreleased version)": "it is of the version unreleased, and 2.x is known to work",
		"weave 3.0":                         "it is of the version 3.0, and 2.x is known to work",
		"usage: weaver CLOTH\nmore":         `it is not weaver: asked for its version it says "usage: weaver CLOTH"`,
		"":                                  `it is not weaver: asked for its version it says ""`,
	} {
		err := weave.NewSleeve(newFake(t, said, inSleeve).paths()).Probe(t.Context(), lab.New())
		var missing *platform.Unsupported
		if !errors.As(err, &missing) || !strings.HasSuffix(err.Error(), want) || !strings.Contains(missing.Remedy, "--tool-path weaver=FILE") {
			t.Errorf("%q: %v, want %s", said, err, want)
		}
	}
	for _, said := range []string{"weave 2.8.1", "weave 2.6", "weave unreleased", "weave git-34de0b10a69c", "weave (unreleased version)"} {
		if err := weave.NewSleeve(newFake(t, said, inSleeve).paths()).Probe(t.Context(), lab.New()); err != nil {
			t.Errorf("%q: %v", said, err)
		}
	}
}

func TestWeaverThatDoesNotStart(t *testing.T) {
	const said = "FATA: 2021/01/25 14:03:44.000000 creating dummy interface: operation not supported"
	f := newFake(t, version, inSleeve)
	f.put("refusal", "creating dummy interface: operation not supported")
	tech := weave.NewSleeve(f.paths())
	_, err := connect(t, tech, lab.New())
	if want := "weaver on h1 ended (exit status 1): it says: " + said; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// It is tried before it is used, where the kernel has no such device.
	if err := tech.Probe(t.Context(), lab.New()); err != nil {
		var missing *platform.Unsupported
		if !errors.As(err, &missing) || missing.Option != "CONFIG_DUMMY" || !strings.HasSuffix(err.Error(), said) {
			t.Error(err)
		}
	}
}
