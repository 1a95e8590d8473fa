package runner

import "time"

// Hurry shortens the wait for silence until undo is called.
func Hurry(bound time.Duration) (undo func()) {
	was := silenceTime
	silenceTime = bound
	return func() { silenceTime = was }
}
