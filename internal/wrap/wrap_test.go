package wrap_test

import (
	"errors"
	"testing"

	"nettoll/internal/wrap"
)

func TestError(t *testing.T) {
	cause := errors.New("no such device")
	err := wrap.Error(cause, "set %s up", "eth0")
	if !errors.Is(err, cause) || err.Error() != "set eth0 up: no such device" {
		t.Errorf("%v", err)
	}
	if err := wrap.Error(nil, "set %s up", "eth0"); err != nil {
		t.Errorf("%v, and nothing failed", err)
	}
}
