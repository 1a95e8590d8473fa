// Package turn has checks of the test suite rotate.
package turn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// Rotate skips a test unless it is its turn. Checks that take long, and look at the same code as others that always
// run, rotate: of a list of checks, the one at index i runs in every n-th run of the suite, and all run if the
// current change touches their package, or a package in or below one of the given folders. Faults, kills, proofs of
// path and statistics never rotate.
//
// The turn comes from the environment, as set by make test: NETTOLL_TURN is K/N, and NETTOLL_TOUCHED is a
// comma-separated list of the folders of packages that run whole. Without a turn everything runs.
func Rotate(t *testing.T, i int, folders ...string) {
	t.Helper()
	turn, of := thisTurn(t)
	rotate(t, i%of, of, turn, folders)
}

// Alternate is Rotate for checks that come in pairs, of which the one at an even index runs in every second run of the
// suite, and the one at an odd index in the others.
func Alternate(t *testing.T, i int, folders ...string) {
	t.Helper()
	turn, of := thisTurn(t)
	of = min(of, 2)
	rotate(t, i%of, of, turn%of, folders)
}

func rotate(t *testing.T, i, of, turn int, folders []string) {
	t.Helper()
	dir, err := os.Getwd() // tests run in the folder of their package
	iferr.Fatal(t, err)
	changed := os.Getenv("NETTOLL_TOUCHED")
	besides := slices.ContainsFunc(folders, func(f string) bool { return below(f, changed) })
	if i != turn && !touched(dir, changed) && !besides {
		t.Skipf("rotates: runs in turn %d of %d, and this is turn %d/%d; make test-all runs everything", i+1, of, turn+1, of)
	}
}

// thisTurn returns which turn it is, from 0, and of how many.
func thisTurn(t *testing.T) (turn, of int) {
	t.Helper()
	turn, of, err := readTurn(os.Getenv("NETTOLL_TURN"))
	iferr.Fatal(t, err)
	return turn, of
}

// readTurn reads K/N; K counts from 1 in the text and from 0 in the result. Empty is 1/1.
func readTurn(text string) (k, n int, err error) {
	if text == "" {
		return 0, 1, nil
	}
	if _, err := fmt.Sscanf(text, "%d/%d", &k, &n); err != nil || k < 1 || k > n {
		return 0, 0, fmt.Errorf("NETTOLL_TURN=%s: write it as 1/4, the first turn of four", text)
	}
	return k - 1, n, nil
}

// touched reports whether the package in a directory is one of the list of folders.
func touched(dir, folders string) bool {
	return slices.ContainsFunc(strings.Split(folders, ","), func(folder string) bool {
		return folder != "" && strings.HasSuffix(filepath.ToSlash(dir), "/"+folder)
	})
}

// below reports whether a folder, or one below it, is in a list of folders.
func below(folder, list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
		return one == folder || strings.HasPrefix(one, folder+"/")
	})
}
