package keeper

import (
	"fmt"
	"os"
	"strings"
)

// A program that was sent to a machine consists of files without names, in the memory of an agent: the dynamic loader of
// the program, the program, and its libraries in the loader's order; or only the program, if it needs no libraries. They
// are open in the process that becomes the program, and the loader gets each by its descriptor. It knows libraries by
// the names that are written in them (SONAME), so that no folder is needed, and nothing has to be removed.

// firstSent is the first descriptor of a sent program's files, in its own process. It leaves the lower ones to the
// program: some, such as wrk, have tables of descriptors that are not much longer than the connections they are to make.
const firstSent = 100

// Sent returns the path and the arguments by which a program with arguments of its own is started, given the number of
// its files, whose descriptors begin with firstSent.
func Sent(files int, args []string) (path string, all []string) {
	at := make([]string, files)
	for i := range at {
		at[i] = fmt.Sprintf("/proc/self/fd/%d", firstSent+i)
	}
	if files == 1 {
		return at[0], args
	}
	all = []string{"--inhibit-cache"}
	if files > 2 {
		all = append(all, "--preload", strings.Join(at[2:], ":"))
	}
	return at[0], append(append(all, at[1]), args...)
}

// Inherited returns the files that a process inherits after standard error, as exec.Cmd takes them, if these are the
// files of a sent program.
func Inherited(sent []*os.File) []*os.File {
	if len(sent) == 0 {
		return nil
	}
	return append(make([]*os.File, firstSent-3), sent...)
}

// OpenSent opens the files of a sent program, which are closed by the function that is returned.
func OpenSent(paths []string) (files []*os.File, closeAll func(), err error) {
	closeAll = func() {
		for _, f := range files {
			f.Close()
		}
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("open a program that was sent: %w", err)
		}
		files = append(files, f)
	}
	return files, closeAll, nil
}
