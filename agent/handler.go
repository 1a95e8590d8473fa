package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Handler answers one method. Its context ends when the caller gives up or the
// agent ends; it must return then. The result is encoded as JSON.
type Handler func(ctx context.Context, params json.RawMessage) (result any, err error)

// Typed makes a Handler of a function with typed parameters and result.
func Typed[In, Out any](f func(context.Context, In) (Out, error)) Handler {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var in In
		if len(params) > 0 {
			if err := json.Unmarshal(params, &in); err != nil {
				return nil, fmt.Errorf("decode params: %w", err)
			}
		}
		return f(ctx, in)
	}
}
