package platform

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrUnsupported is wrapped by every error that reports something missing.
var ErrUnsupported = errors.New("not supported here")

// Unsupported reports what is missing, and what would fix it.
type Unsupported struct {
	Feature string // "macvlan devices"
	Program string // by its name or path; "" if something else is missing
	Option  string // "CONFIG_MACVLAN", a permission; "" means Program
	Remedy  string // "modprobe macvlan, or …"
	Err     error  // the underlying error
}

// Needs says what is missing.
func (u *Unsupported) Needs() string { return cmp.Or(u.Option, "the program "+u.Program) }

func (u *Unsupported) Error() string {
	s := fmt.Sprintf("%s: not supported here (needs %s)", u.Feature, u.Needs())
	if u.Err != nil {
		s += ": " + u.Err.Error()
	}
	return s
}

// Is makes errors.Is(err, ErrUnsupported) true.
func (u *Unsupported) Is(target error) bool { return target == ErrUnsupported }

// Unwrap returns the underlying error.
func (u *Unsupported) Unwrap() error { return u.Err }

// Missing is an Unsupported in a form that agents can send.
type Missing struct{ Feature, Option, Remedy, Err string }

// Lacks returns what an error says is missing, or nil.
func Lacks(err error) *Missing {
	u, ok := errors.AsType[*Unsupported](err)
	if !ok {
		return nil
	}
	m := &Missing{Feature: u.Feature, Option: u.Needs(), Remedy: u.Remedy}
	if u.Err != nil {
		m.Err = u.Err.Error()
	}
	return m
}

// Unsupported returns it as an error again. The place where it is missing is named, unless that is empty.
func (m *Missing) Unsupported(where string) error {
	u := &Unsupported{Feature: m.Feature, Option: m.Option, Remedy: m.Remedy}
	if where != "" {
		u.Feature += " on " + where
	}
	if m.Err != "" {
		u.Err = errors.New(m.Err)
	}
	return u
}
