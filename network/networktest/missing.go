package networktest

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nettoll/platform"
	"nettoll/platform/platformtest"
)

// mustBeMissing fails the test when a network says that it is not supported
// although the kernel was built with all that it names.
func mustBeMissing(t *testing.T, err error) {
	t.Helper()
	var missing *platform.Unsupported
	if !errors.Is(err, platform.ErrUnsupported) || !errors.As(err, &missing) {
		t.Fatal(err)
	}
	if missing.Remedy == "" {
		t.Errorf("%v: no remedy", err)
	}
	if program, ok := strings.CutPrefix(missing.Option, "the program "); ok {
		platformtest.Require(t, filepath.Base(program), err)
	}
	options := regexp.MustCompile(`CONFIG_\w+`).FindAllString(missing.Option, -1)
	if len(options) == 0 {
		t.Fatalf("unexpected skip: %v", err)
	}
	for _, o := range options {
		if !platformtest.KernelHas(t, o) {
			return
		}
	}
	t.Fatalf("unexpected skip: the kernel has %s: %v", missing.Option, err)
}
