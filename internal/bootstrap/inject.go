// Package bootstrap brings nettoll's agent to a machine on which nothing is installed: over the standard input of a
// shell there, compressed and with its SHA-256, into a file that has no name any more when the agent starts. Nothing
// of it is left when the agent ends, in whatever way.
package bootstrap

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nettoll/internal/emulated"
	"nettoll/platform"
)

// Mark returns a new mark, for Script.
func Mark() string {
	var b [8]byte
	rand.Read(b[:])
	return "nettoll-" + hex.EncodeToString(b[:])
}

// stillTime is how long the other machine may take to say or to receive something. A piece of the program passes
// through buffers of a megabyte or two, which a connection of 1 Mbit/s carries in 16 s.
var stillTime = 60 * time.Second

// chunk is how much of the program is written at once, in bytes.
const chunk = 32 << 10

// mostTalk bounds what a login shell may print before the script runs, in bytes.
const mostTalk = 1 << 20

// Inject sends the agent to the process, which runs Script(mark) on another machine, and returns it as the process of
// the agent, which speaks frames. find returns the program for a kind of machine, as uname -m names it. If it fails, the
// process is killed.
func Inject(ctx context.Context, proc platform.Process, mark string, find func(kind string) (*Program, error)) (*Injected, error) {
	limit := emulated.Patience(stillTime)
	still := time.NewTimer(limit)
	defer still.Stop()
	t := &talk{proc: proc, mark: mark, find: find, out: bufio.NewReader(proc.Stdout()), moved: func() { still.Reset(limit) }}
	done := make(chan error, 1)
	go func() { done <- t.run() }()
	var err error
	select {
	case err = <-done:
		if err == nil {
			return &Injected{proc, t.by, output{t.out, proc.Stdout()}}, nil
		}
	case <-still.C:
		err = fmt.Errorf("nothing has come or could be sent for %v", limit)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	killErr := end(proc)
	if killErr == nil && errors.Is(err, errSilent) { // the process has ended, and itself knows why
		if waitErr := proc.Wait(); waitErr != nil {
			err = waitErr
		}
	}
	return nil, errors.Join(err, killErr)
}

// tidyTime is how long a shell has to remove what it made, once its input has ended.
var tidyTime = time.Second

// end ends the input of a shell, with which it removes what it made. A shell that does not end by that is killed.
func end(proc platform.Process) error {
	proc.Stdin().Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		proc.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(emulated.Patience(tidyTime)):
	}
	return proc.Kill()
}

// errSilent is the error of a process that ends without having said what went wrong.
var errSilent = errors.New("the shell ended without an answer")

// talk is a conversation with the script.
type talk struct {
	proc  platform.Process
	mark  string
	find  func(string) (*Program, error)
	out   *bufio.Reader
	moved func() // something was received or sent
	by    string
}

// run answers the script until the agent runs.
func (t *talk) run() error {
	var p *Program
	var findErr error
	for {
		said, detail, err := t.hear()
		if err != nil {
			return err
		}
		switch said {
		case saysMachine:
			if p, findErr = t.find(detail); findErr != nil {
				return findErr
			}
		case saysBy:
			t.by = detail
		case saysSend:
			if p == nil {
				return errors.New("the shell asked for the agent before it said what kind of machine it is on")
			}
			if err := t.send(p); err != nil {
				return err
			}
		case saysHello:
			return nil
		case saysFail:
			code, rest, _ := strings.Cut(detail, " ")
			return failure(code, rest)
		default:
			return fmt.Errorf("the shell says %q", said+" "+detail)
		}
	}
}

// hear returns the next of the script's lines. Other text is skipped: banners and messages of login scripts, which need
// not end with the end of a line.
func (t *talk) hear() (said, detail string, err error) {
	var line []byte
	for skipped := 0; skipped < mostTalk; {
		part, err := t.out.ReadSlice('\n')
		t.moved()
		line = append(line, part...)
		skipped += len(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return "", "", errSilent
		}
		if _, after, ok := strings.Cut(string(line), t.mark+" "); ok {
			said, detail, _ = strings.Cut(strings.TrimSpace(after), " ")
			return said, detail, nil
		}
		line = line[:0]
	}
	return "", "", fmt.Errorf("the login shell printed %d kB without running a command", mostTalk>>10)
}

// send sends the program.
func (t *talk) send(p *Program) error {
	in := t.proc.Stdin()
	if _, err := fmt.Fprintf(in, "%d %s\n", len(p.packed), p.sum); err != nil {
		return errSilent
	}
	for part := range slices.Chunk(p.packed, chunk) {
		if _, err := in.Write(part); err != nil {
			return errSilent
		}
		t.moved()
	}
	return nil
}

// Injected is the process of an agent that has said hello.
type Injected struct {
	platform.Process
	// By is the value of SSH_CONNECTION there, if it has one: addresses and ports of the client and of the server.
	By  string
	out output
}

// Stdout implements platform.Process.
func (p *Injected) Stdout() io.Reader { return p.out }

// output is what the agent writes after its hello, of which some may have been read already.
type output struct {
	io.Reader
	of io.Reader
}

// Close closes the output of the process.
func (o output) Close() error {
	if c, ok := o.of.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
