package testutil

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Rotate skips a test unless it is its turn. Checks that take long, and look at the same
// code as others that always run, take turns: of those of a list, the one at index i runs
// in every n-th run of the suite, and all run where the change at hand touches their
// package, or one of those below the folders that are named besides. Faults, kills, proofs of
// path and statistics never rotate.
//
// The environment says which turn it is, as make test sets it: NETTOLL_TURN is K/N, and
// NETTOLL_TOUCHED lists the folders of packages that run whole, with commas between.
// Without a turn everything runs.
func Rotate(t *testing.T, i int, folders ...string) {
	t.Helper()
	text := os.Getenv("NETTOLL_TURN")
	turn, of, err := turn(text)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Getwd() // tests run in the folder of their package
	if err != nil {
		t.Fatal(err)
	}
	changed := os.Getenv("NETTOLL_TOUCHED")
	besides := slices.ContainsFunc(folders, func(f string) bool { return below(f, changed) })
	if i%of != turn && !touched(dir, changed) && !besides {
		t.Skipf("rotates: runs in turn %d of %d, and this is turn %s; make test-all runs everything", i%of+1, of, text)
	}
}

// turn reads K/N; K counts from 1 in the text and from 0 in the result. Empty is 1/1.
func turn(text string) (k, n int, err error) {
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
	for _, folder := range strings.Split(folders, ",") {
		if folder != "" && strings.HasSuffix(filepath.ToSlash(dir), "/"+folder) {
			return true
		}
	}
	return false
}

// below reports whether a folder, or one below it, is in a list of folders.
func below(folder, list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
		return one == folder || strings.HasPrefix(one, folder+"/")
	})
}
