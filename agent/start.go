package agent

import (
	"context"
	"fmt"

	"nettoll/platform"
)

// Start runs an agent in an endpoint. extraEnv is added to the environment that
// the platform gives it. The caller closes the client.
func Start(ctx context.Context, endpoint platform.Endpoint, extraEnv ...string) (*Client, error) {
	proc, err := endpoint.Start(ctx, platform.Command{
		Path: platform.Self,
		Args: []string{"agent"},
		Env:  extraEnv,
	})
	if err != nil {
		return nil, fmt.Errorf("agent: start in %s: %w", endpoint.Name(), err)
	}
	return Dial(proc), nil
}
