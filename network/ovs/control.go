package ovs

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// asking bounds one question to a daemon.
const asking = 5 * time.Second

// ask sends a command to the control socket of a daemon, as ovs-appctl(8) does, and gives its
// answer. The protocol is JSON-RPC 1.0, without the fork of a program for each
// question.
func ask(ctx context.Context, socket, method string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	answer, err := call(ctx, socket, method, args)
	if err != nil {
		return "", fmt.Errorf("%s: %w", method, err)
	}
	return answer, nil
}

func call(ctx context.Context, socket, method string, args []string) (string, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(until); err != nil {
			return "", err
		}
	}
	if args == nil {
		args = []string{}
	}
	err = json.NewEncoder(c).Encode(map[string]any{"id": 0, "method": method, "params": args})
	if err != nil {
		return "", err
	}
	var reply struct {
		Result string
		Error  *string
	}
	if err := json.NewDecoder(c).Decode(&reply); err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if reply.Error != nil {
		return "", fmt.Errorf("refused: %s", *reply.Error)
	}
	return reply.Result, nil
}
