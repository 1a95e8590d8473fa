package platformtest

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// KernelHas reports whether an option, such as CONFIG_IPVLAN, is built into the kernel. For a kernel that does not
// report its configuration it returns false.
func KernelHas(t testing.TB, option string) bool {
	t.Helper()
	f, err := os.Open("/proc/config.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	iferr.Fatal(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	iferr.Fatal(t, err)
	config, err := io.ReadAll(z)
	iferr.Fatal(t, err)
	return strings.Contains("\n"+string(config), "\n"+option+"=y\n")
}
