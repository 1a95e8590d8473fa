package process

import "sync/atomic"

var bound atomic.Bool

// Bind says that all that this process starts ends with it, in whatever way that happens: it
// is in a lab.
func Bind() { bound.Store(true) }

// Bound says whether that is so.
func Bound() bool { return bound.Load() }
