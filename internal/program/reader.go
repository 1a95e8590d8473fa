package program

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Reader takes figures out of the fields that a program printed, by name. It keeps the first
// thing that is wrong with them, and gives zeros from then on, so that one figure can be taken
// after the other.
type Reader struct {
	Program string
	Known   string  // said where a field is missing or has another value: what is known to work
	Most    float64 // figures are below this; 0 is no bound
	Fields  map[string]string
	Err     error
}

// Fail keeps what is wrong. The text goes on behind the program's name.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = errors.New(r.Program + " " + fmt.Sprintf(format, args...))
	}
}

// Text is a field that must be there.
func (r *Reader) Text(name string) string {
	v, ok := r.Fields[name]
	if !ok {
		r.Fail("did not print %s; %s", name, r.Known)
	}
	return v
}

// Is checks a field that must have a value, such as the unit of another.
func (r *Reader) Is(name, want string) {
	if v := r.Text(name); v != want {
		r.Fail("says %s=%.80s, not %s; %s", name, v, want, r.Known)
	}
}

// Number is a finite number, zero or above.
func (r *Reader) Number(name string) float64 {
	v := r.Text(name)
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || r.beyond(n) {
		r.Fail("says %s=%.80s, which is no figure", name, v)
		return 0
	}
	return n
}

// Positive is a number that is not zero where there was traffic.
func (r *Reader) Positive(name string) float64 {
	n := r.Number(name)
	if n == 0 {
		r.Fail("says %s=0: nothing was measured", name)
	}
	return n
}

// Count is a whole number, zero or above.
func (r *Reader) Count(name string) uint64 {
	v := r.Text(name)
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil || r.beyond(float64(n)) {
		r.Fail("says %s=%.80s, which is no count", name, v)
		return 0
	}
	return n
}

func (r *Reader) beyond(n float64) bool { return r.Most > 0 && n >= r.Most }
