package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// Descriptors returns how many files of a kind, such as "net:" or "pipe:", this process has open.
func Descriptors(t *testing.T, kind string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	iferr.Fatal(t, err)
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, kind) {
			n++
		}
	}
	return n
}
