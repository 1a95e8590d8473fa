package agent

import (
	"context"
	"fmt"

	"nettoll/platform"
)

// quiet keeps the Go runtime of an agent from interrupting threads that have run
// for 10 ms by a signal: a thread that measures must not be interrupted.
const quiet = "GODEBUG=asyncpreemptoff=1"

// Start runs an agent in an endpoint. The caller closes the client.
func Start(ctx context.Context, endpoint platform.Endpoint) (*Client, error) {
	proc, err := endpoint.Start(ctx, platform.Command{
		Path: platform.Self,
		Args: []string{"agent"},
		Env:  []string{quiet},
	})
	if err != nil {
		return nil, fmt.Errorf("agent: start in %s: %w", endpoint.Name(), err)
	}
	return Dial(proc), nil
}
