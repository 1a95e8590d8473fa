package engine

import _ "unsafe" // for go:linkname

// nanotime is CLOCK_MONOTONIC in nanoseconds, read without entering the kernel.
// time.Since reads the same clock, but gives the scheduler a place to step in.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
