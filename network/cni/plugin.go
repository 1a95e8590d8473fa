package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"nettoll/internal/process"
	"nettoll/platform"
)

// runner runs plugins on a host, for libcni.
type runner struct {
	version.PluginDecoder
	host     platform.Host
	in       Folders
	patience time.Duration
}

// FindInPath implements invoke.Exec.
func (r *runner) FindInPath(plugin string, _ []string) (string, error) {
	path, err := r.in.find(plugin)
	if err != nil {
		return "", fmt.Errorf("no plugin %s: %w", plugin, err)
	}
	return path, nil
}

// ExecPlugin implements invoke.Exec. libcni compares the text of an error to know plugins
// that are older than the command VERSION: it must be the plugin's own.
func (r *runner) ExecPlugin(ctx context.Context, path string, config []byte, environ []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.patience, fmt.Errorf("it did not end within %v", r.patience))
	defer cancel()
	said, err := listen()
	if err != nil {
		return nil, err
	}
	complained, err := listen()
	if err != nil {
		said.end()
		return nil, err
	}
	// The rest of the environment is the host's own.
	own := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return !strings.HasPrefix(kv, "CNI_") })
	err = process.Run(ctx, r.host, platform.Command{
		Path: path, Env: own, Stdin: bytes.NewReader(config), Stdout: said.write, Stderr: complained.write,
	})
	out, errText := said.end(), complained.end()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, refusal(err, out, errText)
	case len(out) > mostSaid:
		return nil, fmt.Errorf("it wrote more than %d bytes", mostSaid)
	}
	return out, whole(out)
}

// refusal is what a plugin says of its failure: as the specification has it, on
// standard output, else on standard error.
func refusal(err error, out, errText []byte) error {
	var told types.Error
	if json.Unmarshal(out, &told) == nil && told.Msg != "" {
		return errors.New(oneLine(told.Error()))
	}
	for _, text := range [][]byte{errText, out} {
		if line := oneLine(string(text[:min(len(text), mostTold)])); line != "" {
			return fmt.Errorf("%w: %s", err, line)
		}
	}
	return fmt.Errorf("%w, and it said nothing", err)
}

// whole refuses results with null where there must be something, which libcni
// stumbles over.
func whole(out []byte) error {
	var result struct {
		IPs        []*json.RawMessage `json:"ips"`
		Interfaces []*json.RawMessage `json:"interfaces"`
		Routes     []*json.RawMessage `json:"routes"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return nil // libcni says what is wrong
	}
	if slices.Contains(slices.Concat(result.IPs, result.Interfaces, result.Routes), nil) {
		return errors.New("its result has null among ips, interfaces or routes")
	}
	return nil
}

const (
	mostSaid = 1 << 20 // bytes that a plugin may write
	mostTold = 500     // bytes of it in an error
)

// output is what a process writes, as far as it is kept. It is a pipe of ours, so that
// nobody waits for what a plugin may have left running with it.
type output struct {
	read, write *os.File
	text        chan []byte
}

func listen() (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{read: r, write: w, text: make(chan []byte, 1)}
	go func() {
		text, _ := io.ReadAll(io.LimitReader(r, mostSaid+1))
		r.Close() // who writes on is told
		o.text <- text
	}()
	return o, nil
}

// flush is how long what an ended process has written may take to be read.
const flush = 200 * time.Millisecond

// end gives what was written.
func (o *output) end() []byte {
	o.write.Close()
	_ = o.read.SetReadDeadline(time.Now().Add(flush))
	return <-o.text
}
