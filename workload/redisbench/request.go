package redisbench

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/internal/program"
)

// procedure is the name by which agents know what a client does.
const procedure = "redisbench.request"

// request says what a client is to do.
type request struct {
	To       netip.AddrPort
	Password string
	Size     int // of the value, in bytes
	Streams  int
	Lead     time.Duration // before the window
	Window   time.Duration
}

// Handlers are the agent's half.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{procedure: program.Procedure[request](read).Handler()}
}

// read stores the value and says its size. Then it reads it, about 100 ms at a time, until
// the time before the window is over; says how often it will now, which is as often as lasts
// a tenth longer than the window, and does so until the window is over.
func read(ctx context.Context, c *program.Course, r request) (program.Output, error) {
	stored, err := r.store(ctx)
	if err != nil {
		return program.Output{}, fmt.Errorf("store a value on %v: %w", r.To, err)
	}
	get := func(count int) (program.Output, error) {
		command := c.Command
		command.Args = append(command.Args[:len(command.Args):len(command.Args)], "-n", strconv.Itoa(count))
		return c.Run(ctx, command)
	}
	count := firstTry * r.Streams
	for time.Since(c.Started) < r.Lead {
		o, err := get(count)
		if err != nil {
			return o, err
		}
		if count, err = next(o.Stdout, count, r.Streams); err != nil {
			return o, err
		}
	}
	count = max(r.Streams, int(min(math.MaxInt32, float64(count)*r.Window.Seconds()*11)))
	said := fmt.Sprintf("%d\n%d\n", stored, count)
	for begun := false; !begun || time.Since(c.Started) < r.Lead+r.Window; begun = true {
		o, err := get(count)
		if err != nil {
			return o, err
		}
		said += o.Stdout
	}
	return program.Output{Stdout: said}, nil
}

// next is how many requests last 100 ms, by what was said of some.
func next(text string, count, streams int) (int, error) {
	const rate = 1 // column of the requests a second
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("%w; known to work is %s", err, known)
	}
	if len(lines) != 2 || len(lines[1]) <= rate {
		return 0, fmt.Errorf("%d lines of output; known to work is %s", len(lines), known)
	}
	if lines[1][rate] == "inf" {
		return min(count*10, math.MaxInt32), nil
	}
	perSecond, err := strconv.ParseFloat(lines[1][rate], 64)
	if err != nil || math.IsNaN(perSecond) || perSecond < 0 {
		return 0, fmt.Errorf("%q requests a second; known to work is %s", lines[1][rate], known)
	}
	return max(streams, int(min(math.MaxInt32, perSecond/10))), nil
}

// storeTime bounds the storing of the value.
const storeTime = 10 * time.Second

// store stores the value, and gives the size that the server says it has. It speaks Redis'
// protocol (RESP2): a command is an array of strings, an answer one line.
func (r request) store(ctx context.Context) (size int, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.To.String())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answers := bufio.NewReader(conn)
	ask := func(words ...string) (string, error) {
		command := fmt.Sprintf("*%d\r\n", len(words))
		for _, w := range words {
			command += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
		}
		if _, err := conn.Write([]byte(command)); err != nil {
			return "", err
		}
		line, err := answers.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if failed, bad := strings.CutPrefix(line, "-"); bad && err == nil {
			err = fmt.Errorf("the server says %q", failed)
		}
		return line, err
	}
	if _, err := ask("AUTH", r.Password); err != nil {
		return 0, err
	}
	// The key that redis-benchmark reads when it is told nothing of keys.
	line, err := ask("SETRANGE", "key:__rand_int__", strconv.Itoa(r.Size-1), "x")
	if err != nil {
		return 0, err
	}
	number, ok := strings.CutPrefix(line, ":")
	if size, err = strconv.Atoi(number); !ok || err != nil {
		return 0, fmt.Errorf("the server says %q", line)
	}
	return size, nil
}
