package wrk

import (
	"context"
	"slices"
	"strconv"
	"time"

	"nettoll/agent"
	"nettoll/internal/program"
)

// procedure is the name by which agents know what a client does.
const procedure = "wrk.request"

// request says how long a client is to run, in whole seconds.
type request struct{ Warmup, Window time.Duration }

// Handlers are the agent's half.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{procedure: program.Procedure[request](ask).Handler()}
}

// ask runs wrk twice, the first time for what is not to be counted.
func ask(ctx context.Context, c *program.Course, r request) (program.Output, error) {
	run := func(d time.Duration, command program.Command, more ...string) (program.Output, error) {
		command.Args = slices.Concat([]string{"-d", strconv.Itoa(int(d/time.Second)) + "s"}, more, command.Args)
		return c.Run(ctx, command)
	}
	if r.Warmup > 0 {
		if o, err := run(r.Warmup, c.Command); err != nil {
			return o, err
		}
	}
	command := c.Command
	command.Stdin = done
	return run(r.Window, command, "-s", "/dev/stdin") // each thread reads it by itself
}
