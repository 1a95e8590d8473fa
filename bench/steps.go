package main

import (
	"fmt"
	"os"
	"time"
)

// steps tell how far something is that takes long.
type steps struct {
	total, done int
	began       time.Time
}

// step says what begins now, and how long all takes if the rest takes as long as what was done.
func (j *judging) step(what string) {
	left := ""
	if j.done == 0 {
		j.began = time.Now()
	} else if j.total > j.done {
		rest := time.Since(j.began) / time.Duration(j.done) * time.Duration(j.total-j.done)
		left = fmt.Sprintf(", about %v left", rest.Round(time.Second))
	}
	j.done++
	fmt.Fprintf(os.Stderr, "%s: %d of %d: %s%s\n", j.name, j.done, j.total, what, left)
}
