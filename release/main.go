// Command release makes those parts of a release that need more than a program of the distribution: the list of
// components in the programs, the notices of their licences, and the image. .ci/release calls it.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: release sbom VERSION PROGRAM..., notices GO-LICENCE, or image VERSION NETTOLL NETTOLL-AGENT LICENSE NOTICES")
	}
	switch what, args := args[0], args[1:]; {
	case what == "sbom" && len(args) > 1:
		return writeSBOM(os.Stdout, args[0], args[1:])
	case what == "notices" && len(args) == 1:
		return writeNotices(os.Stdout, os.Stdin, args[0])
	case what == "image" && len(args) == 5:
		return writeImage(os.Stdout, args[0], args[1], args[2], args[3], args[4])
	}
	return fmt.Errorf("%q cannot be done with %d arguments", args[0], len(args)-1)
}

// epoch returns the time of the release's commit, which all its files have.
func epoch() (time.Time, error) {
	const name = "SOURCE_DATE_EPOCH"
	seconds, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %q, and must be a time in seconds", name, os.Getenv(name))
	}
	return time.Unix(seconds, 0).UTC(), nil
}
