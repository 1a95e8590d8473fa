package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"nettoll/internal/beside"
	"nettoll/internal/nsexec"
	"nettoll/internal/oneline"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// Folders are searched for plugins, in order.
type Folders []string

// Usual returns the usual folders of plugins: the one next to nettoll, unless others could have put
// plugins there, and those of System.
func Usual() Folders {
	own, err := beside.Find("cni")
	if err != nil {
		return System()
	}
	return append(Folders{own}, System()...)
}

// System returns the folders where container runtimes and Debian have plugins.
func System() Folders { return Folders{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"} }

// find returns the path of an executable plugin.
func (in Folders) find(plugin string) (string, error) {
	path, err := invoke.FindInPath(plugin, in)
	if err != nil {
		return "", errors.New("it is in none of " + in.String() + passedOver())
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o111 == 0 {
		return "", errors.New(path + " cannot be executed")
	}
	return path, nil
}

// passedOver explains why the folder next to nettoll is not searched, if there is one.
func passedOver() string {
	if _, err := beside.Find("cni"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "; " + err.Error()
	}
	return ""
}

// missing returns an error if a plugin is missing.
func (in Folders) missing(plugin string) error {
	_, err := in.find(plugin)
	if err == nil {
		return nil
	}
	return &platform.Unsupported{
		Feature: "the CNI plugin " + plugin, Program: plugin,
		Remedy: platform.Install("containernetworking-plugins") + ", or --cni-bin with the folder that it is in", Err: err,
	}
}

func (in Folders) String() string {
	if len(in) == 0 {
		return "no folder"
	}
	return strings.Join(in, ", ")
}

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
	return path, wrap.Error(err, "no plugin %s", plugin)
}

// ExecPlugin implements invoke.Exec. libcni recognizes plugins older than the command VERSION by
// the text of an error: it must be the plugin's own.
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
	// The rest of the environment is the host's.
	own := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return !strings.HasPrefix(kv, "CNI_") })
	err = nsexec.Run(ctx, r.host, platform.Command{
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

// refusal returns a plugin's error message: the one on standard output, as specified, or else the
// text on standard error.
func refusal(err error, out, errText []byte) error {
	var told types.Error
	if json.Unmarshal(out, &told) == nil && told.Msg != "" {
		return errors.New(oneline.Output(told.Error()))
	}
	for _, text := range [][]byte{errText, out} {
		if line := oneline.Output(string(text[:min(len(text), mostTold)])); line != "" {
			return fmt.Errorf("%w: %s", err, line)
		}
	}
	return fmt.Errorf("%w, and it said nothing", err)
}

// whole rejects results with null in place of an object, which libcni does not handle.
func whole(out []byte) error {
	var result struct {
		IPs        []*json.RawMessage `json:"ips"`
		Interfaces []*json.RawMessage `json:"interfaces"`
		Routes     []*json.RawMessage `json:"routes"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return nil // libcni reports the error
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

// output collects what a process writes, up to a limit. It reads a pipe of its own, so that nothing waits for
// processes that a plugin leaves running with that pipe open.
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
		from := io.LimitReader(r, mostSaid+1)
		text, err := io.ReadAll(from)
		if errors.Is(err, os.ErrDeadlineExceeded) { // this process may not have run meanwhile
			_ = r.SetReadDeadline(time.Now().Add(flush))
			rest, _ := io.ReadAll(from)
			text = append(text, rest...)
		}
		r.Close() // a process that continues to write gets an error
		o.text <- text
	}()
	return o, nil
}

// flush bounds the time to read what an exited process has written.
const flush = 200 * time.Millisecond

// end returns the text that was written.
func (o *output) end() []byte {
	o.write.Close()
	_ = o.read.SetReadDeadline(time.Now().Add(flush))
	return <-o.text
}
