package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"
)

// TestUnansweredMakesAreNoted notes objects that an engine may have made without having answered, also if the connection ended in a way of its own,
// as one through ssh does. What never reached the engine is not looked for.
func TestUnansweredMakesAreNoted(t *testing.T) {
	asked := func(err error) error {
		return fmt.Errorf("make: %w", &url.Error{Op: "Post", URL: "http://engine/containers/create", Err: err})
	}
	for name, c := range map[string]struct {
		err   error
		noted bool
	}{
		"given up":          {context.Canceled, true},
		"not in time":       {asked(context.DeadlineExceeded), true},
		"broken off":        {io.ErrUnexpectedEOF, true},
		"ssh ended":         {asked(errors.New("ssh says: client_loop: send disconnect: Broken pipe")), true},
		"no route any more": {asked(&net.OpError{Op: "read", Err: syscall.ETIMEDOUT}), true},
		"nobody listens":    {asked(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false},
		"refused":           {errors.New("Conflict"), false},
	} {
		e := &Engine{}
		if e.late("one", c.err); len(e.unowned) == 1 != c.noted {
			t.Errorf("%s: noted: %v, want %v", name, e.unowned, c.noted)
		}
	}
}
