package runner

import "time"

// Hurry shortens the wait for silence, until what it gives is called.
func Hurry(bound time.Duration) (undo func()) {
	was := silenceTime
	silenceTime = bound
	return func() { silenceTime = was }
}
