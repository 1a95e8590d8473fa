package platformtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Require skips a test if something it needs is missing here, such as the program dockerd. If NETTOLL_REQUIRE names
// the need, the test fails instead.
func Require(t *testing.T, need string, missing error) {
	t.Helper()
	if missing == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("NETTOLL_REQUIRE"), ","), need) {
		t.Fatalf("%s is required: %v", need, missing)
	}
	t.Skip(missing)
}
