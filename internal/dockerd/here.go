package dockerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
)

// Here says whether the engine's containers are processes of this very machine, seen
// from where nettoll runs: a container is started, and looked for among them. An
// engine in a virtual machine has a socket here as well, and its word for a process
// would be that of a stranger.
func (e *Engine) Here(ctx context.Context) (here bool, err error) {
	c, err := e.start(ctx, Spec{Name: "here", Mode: "none"}, false)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.remove(context.WithoutCancel(ctx))) }()
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	if err != nil {
		return false, nil // no such process
	}
	return bytes.Contains(groups, []byte(c.id)), nil
}
