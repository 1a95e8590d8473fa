package platformtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Require skips a test for which something is missing here, such as the program
// dockerd. Where NETTOLL_REQUIRE names what is needed the test fails.
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
