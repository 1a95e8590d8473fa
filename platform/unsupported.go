package platform

import (
	"errors"
	"fmt"
)

// ErrUnsupported is wrapped by every error that reports something missing.
var ErrUnsupported = errors.New("not supported here")

// Unsupported reports what is missing, and what would fix it.
type Unsupported struct {
	Feature string // "macvlan devices"
	Option  string // "CONFIG_MACVLAN", a program, a permission
	Remedy  string // "modprobe macvlan, or …"
	Err     error  // the underlying error
}

func (u *Unsupported) Error() string {
	s := fmt.Sprintf("%s: not supported here (needs %s)", u.Feature, u.Option)
	if u.Err != nil {
		s += ": " + u.Err.Error()
	}
	return s
}

// Is makes errors.Is(err, ErrUnsupported) true.
func (u *Unsupported) Is(target error) bool { return target == ErrUnsupported }

// Unwrap returns the underlying error.
func (u *Unsupported) Unwrap() error { return u.Err }
