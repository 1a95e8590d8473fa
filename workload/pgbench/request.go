package pgbench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/internal/await"
	"nettoll/internal/program"
)

// procedure is the name under which agents serve the work of a client.
const procedure = "pgbench.request"

// request is the work of a client.
type request struct {
	To         netip.AddrPort
	Connecting time.Duration // that pgbench may take to make its connections
	Lead       time.Duration // before the window
	Window     time.Duration
}

// Handlers returns the agent's half.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{procedure: program.Procedure[request](transact).Handler()}
}

// transact runs pgbench when the server accepts clients, and appends to its output a summary of its
// log for the window.
func transact(ctx context.Context, c *program.Course, r request) (program.Output, error) {
	if err := r.admitted(ctx); err != nil {
		return program.Output{}, fmt.Errorf("wait for the server at %v: %w", r.To, err)
	}
	forget()
	var said logged
	o, err := c.RunIn(ctx, c.Command, nil, func(dir string) (err error) {
		said, err = r.logged(dir, c.Started)
		return err
	})
	if err != nil {
		return o, err
	}
	text, err := json.Marshal(said)
	o.Stdout += loggedMark + string(text) + "\n"
	return o, err
}

// forget removes from the environment what libpq would read there about the databases of whoever runs nettoll, such as
// PGHOSTADDR and PGSSLMODE.
func forget() {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "PG") {
			os.Unsetenv(name)
		}
	}
}

// logged is a summary of pgbench's log for the window: the transactions of each connection, and how
// often each latency occurred, in microseconds.
type logged struct {
	Lines, Microseconds int64 // Lines are of the whole log, Microseconds are the length of the window
	Late                int64 // microseconds by which the window began later than that of the CPU time
	Clients, Latencies  program.Histogram
	Unknown             string `json:",omitempty"` // a line that is not a transaction
}

// admitted returns when the server accepts clients: it listens earlier than that, and then answers
// that it cannot accept connections yet.
func (r request) admitted(ctx context.Context) error {
	const cannotConnectNow = "57P03" // one of PostgreSQL's error codes
	return await.Until(ctx, 0, 10*time.Millisecond, func(ctx context.Context) (missing, err error) {
		code, err := r.knock(ctx)
		if err != nil || code == "" {
			return nil, err
		}
		refuses := fmt.Errorf("it refuses clients (error %s)", code)
		if code == cannotConnectNow {
			return refuses, nil
		}
		return nil, refuses
	})
}

// knock begins a connection and returns the code of the server's error, or "" if the server asks for a
// password. It uses PostgreSQL's protocol 3.0.
func (r request) knock(ctx context.Context) (code string, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.To.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	hello := "\x00\x03\x00\x00user\x00" + user + "\x00database\x00postgres\x00\x00"
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(4+len(hello))), hello...)); err != nil {
		return "", err
	}
	head := make([]byte, 5) // kind and length, which includes itself
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", err
	}
	const most = 64 << 10
	length := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] == 'R':
		return "", nil
	case head[0] != 'E' || length < 4 || length > most:
		return "", fmt.Errorf("it answered %q: it is not a PostgreSQL server", head)
	}
	body := make([]byte, length-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return "", err
	}
	for field := range bytes.SplitSeq(body, []byte{0}) {
		if len(field) > 0 && field[0] == 'C' {
			return string(field[1:]), nil
		}
	}
	return "unknown", nil
}

// logged reads the logs of a client that began at a given time, twice: first to find the window, then to count the
// transactions in it. There is a log for each of pgbench's threads. The window is that of the CPU time, or later if the first
// transaction was.
func (r request) logged(dir string, began time.Time) (said logged, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil || len(logs) == 0 {
		return said, errors.Join(errors.New("there is no log"), err)
	}
	var first, last int64
	err = eachOf(logs, func(t transaction) {
		if begin := t.end - t.latency; said.Lines == 0 || begin < first {
			first = begin
		}
		said.Lines, last = said.Lines+1, max(last, t.end)
	})
	if unknown, ok := errors.AsType[unknownLine](err); ok {
		return logged{Unknown: string(unknown)}, nil
	}
	if err != nil {
		return said, err
	}
	due := began.Add(r.Connecting + lateness).UnixMicro()
	from := max(first, due) + r.Lead.Microseconds()
	to := min(last, from+r.Window.Microseconds())
	said.Late, said.Microseconds, said.Clients, said.Latencies = max(0, first-due), to-from, program.Histogram{}, program.Histogram{}
	err = eachOf(logs, func(t transaction) {
		if t.end > from && t.end <= to {
			said.Clients[t.client]++
			said.Latencies[t.latency]++
		}
	})
	return said, err
}

// transaction is a line of pgbench's log: the connection, its latency and its end in microseconds.
type transaction struct{ client, latency, end int64 }

// unknownLine is a line that is not a transaction.
type unknownLine string

func (u unknownLine) Error() string { return fmt.Sprintf("unknown line %q", string(u)) }

// eachOf calls do for all transactions of the logs.
func eachOf(logs []string, do func(transaction)) error {
	for _, path := range logs {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() && err == nil {
			var t transaction
			if t, err = parseLine(lines.Text()); err == nil {
				do(t)
			}
		}
		if err := errors.Join(err, lines.Err(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// parseLine reads a line: connection, number, latency in microseconds, script, and the time of the end
// in seconds and microseconds.
func parseLine(line string) (transaction, error) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return transaction{}, unknownLine(line)
	}
	var n [6]int64
	for i := range f {
		var err error
		if n[i], err = strconv.ParseInt(f[i], 10, 48); err != nil || n[i] < 0 {
			return transaction{}, unknownLine(line)
		}
	}
	return transaction{n[0], n[2], n[4]*1e6 + n[5]}, nil
}
