package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"nettoll/agent"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// Methods of the agent.
const (
	methodStart     = "remote.start"     // startParams → startResult
	methodWrite     = "remote.write"     // writeParams → nothing, when it is written
	methodShut      = "remote.shut"      // id of a process whose input ends → nothing
	methodRead      = "remote.read"      // id → output that has come, at least a byte unless it has ended
	methodWait      = "remote.wait"      // id → ended, when it has
	methodKill      = "remote.kill"      // id → nothing, when it has ended
	methodForget    = "remote.forget"    // id → nothing
	methodSpaces    = "remote.spaces"    // number of namespaces to make → their paths, in the agent's own process
	methodRelease   = "remote.release"   // paths → nothing
	methodDevices   = "remote.devices"   // path of a namespace → []nl.Interface
	methodAddresses = "remote.addresses" // nothing → []nl.Address
	methodWay       = "remote.way"       // netip.Addr → nl.Way
	methodNIC       = "remote.nic"       // name of a device of the machine → record.NIC
	methodTool      = "remote.tool"      // wanted → found
	methodPart      = "remote.part"      // piece → nothing
	methodSweep     = "remote.sweep"     // Sweep → []Left
)

type startParams struct {
	Name  string   `json:"name"` // of the endpoint, for errors
	Space string   `json:"space,omitempty"`
	Path  string   `json:"path"`
	Args  []string `json:"args,omitempty"`
	Env   []string `json:"env,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	Err   bool     `json:"err,omitempty"` // standard error is wanted as it comes, too
}

type writeParams struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"data"`
}

type readParams struct {
	ID  uint64 `json:"id"`
	Err bool   `json:"err,omitempty"` // from standard error
}

type output struct {
	Data  []byte `json:"data,omitempty"`
	Ended bool   `json:"ended,omitempty"`
}

type ended struct {
	Error  string `json:"error,omitempty"` // of platform.Process.Wait
	Stderr string `json:"stderr,omitempty"`
}

// most is how much one answer carries, in bytes: several times what a process writes at once, and a fraction of a frame.
const most = 256 << 10

// Handlers returns the handlers of an agent that is a machine's. What they have started ends with ctx.
func Handlers(ctx context.Context) map[string]agent.Handler {
	h := &half{processes: map[uint64]*started{}, spaces: map[string]*netns.NS{}}
	context.AfterFunc(ctx, h.end)
	sent := &parts{coming: map[string]*bytes.Buffer{}, files: map[string]*os.File{}} // closed by the end of the agent
	return map[string]agent.Handler{
		methodTool:      agent.Typed(sent.tool),
		methodPart:      agent.Typed(sent.part),
		methodSweep:     agent.Typed(sweep),
		methodStart:     agent.Typed(h.start),
		methodWrite:     agent.Typed(h.write),
		methodShut:      agent.Typed(h.shut),
		methodRead:      agent.Typed(h.read),
		methodWait:      agent.Typed(h.wait),
		methodKill:      agent.Typed(h.kill),
		methodForget:    agent.Typed(h.forget),
		methodSpaces:    agent.Typed(h.make),
		methodRelease:   agent.Typed(h.release),
		methodDevices:   agent.Typed(func(_ context.Context, space string) ([]nl.Interface, error) { return sampler.Devices(space) }),
		methodAddresses: agent.Typed(addresses),
		methodWay:       agent.Typed(way),
		methodNIC: agent.Typed(func(_ context.Context, device string) (record.NIC, error) {
			return sampler.NIC(device, "/proc", "/sys")
		}),
	}
}

// half holds what an agent has started.
type half struct {
	mu        sync.Mutex
	over      bool
	last      uint64
	processes map[uint64]*started
	spaces    map[string]*netns.NS // by their paths
}

// started is a process, with its outputs.
type started struct {
	platform.Process
	out, err io.Reader // err is nil unless it was asked for
}

var errOver = errors.New("the agent is ending")

func (h *half) start(ctx context.Context, p startParams) (id uint64, err error) {
	c := platform.Command{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir}
	var errs *os.File
	s := &started{}
	if p.Err {
		r, w, err := os.Pipe()
		if err != nil {
			return 0, fmt.Errorf("%s: start %s: %w", p.Name, p.Path, err)
		}
		s.err, errs, c.Stderr = r, w, w
	}
	s.Process, err = nsexec.StartTied(ctx, p.Name, p.Space, os.Environ(), c)
	if errs != nil {
		errs.Close()
	}
	if err != nil {
		return 0, err
	}
	s.out = s.Process.Stdout()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || ctx.Err() != nil { // nobody would end it
		go s.Kill()
		return 0, errOver
	}
	h.last++
	h.processes[h.last] = s
	return h.last, nil
}

func (h *half) of(id uint64) (*started, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.processes[id]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("there is no process %d", id)
}

func (h *half) write(_ context.Context, p writeParams) (struct{}, error) {
	s, err := h.of(p.ID)
	if err == nil {
		_, err = s.Stdin().Write(p.Data)
	}
	return struct{}{}, err
}

func (h *half) shut(_ context.Context, id uint64) (struct{}, error) {
	s, err := h.of(id)
	if err == nil {
		err = s.Stdin().Close()
	}
	return struct{}{}, err
}

func (h *half) read(_ context.Context, p readParams) (output, error) {
	s, err := h.of(p.ID)
	if err != nil {
		return output{}, err
	}
	from := s.out
	if p.Err {
		from = s.err
	}
	b := make([]byte, most)
	n, err := from.Read(b)
	return output{Data: b[:n], Ended: err != nil}, nil
}

func (h *half) wait(ctx context.Context, id uint64) (e ended, err error) {
	s, err := h.of(id)
	if err != nil {
		return e, err
	}
	how := make(chan error, 1)
	go func() { how <- s.Wait() }()
	select {
	case err := <-how:
		e.Stderr = s.Stderr()
		if err != nil {
			e.Error = err.Error()
		}
		return e, nil
	case <-ctx.Done():
		return e, context.Cause(ctx)
	}
}

func (h *half) kill(_ context.Context, id uint64) (struct{}, error) {
	s, err := h.of(id)
	if err == nil {
		err = s.Kill()
	}
	return struct{}{}, err
}

// forget gives up the outputs of a process, which is killed if it still runs.
func (h *half) forget(_ context.Context, id uint64) (struct{}, error) {
	h.mu.Lock()
	s := h.processes[id]
	delete(h.processes, id)
	h.mu.Unlock()
	if s == nil {
		return struct{}{}, nil
	}
	return struct{}{}, s.close()
}

func (s *started) close() error {
	err := s.Kill()
	for _, r := range []io.Reader{s.out, s.err} {
		if c, ok := r.(io.Closer); ok {
			c.Close()
		}
	}
	return err
}

// end kills everything, several at a time: each may take a while to end.
func (h *half) end() {
	h.mu.Lock()
	h.over = true
	processes, spaces := h.processes, h.spaces
	h.processes, h.spaces = map[uint64]*started{}, map[string]*netns.NS{}
	h.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range processes {
		ending.Go(func() { _ = s.close() }) // the agent ends in any case
	}
	ending.Wait()
	for _, n := range spaces {
		n.Close()
	}
}

// make makes namespaces, which live as long as the agent unless they are released.
func (h *half) make(ctx context.Context, n int) (paths []string, err error) {
	made, err := netns.New(ctx, n, func() error {
		return nl.With("", func(n *nl.NS) error { return n.Up("lo") })
	})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range made {
		if h.over || ctx.Err() != nil {
			s.Close()
			continue
		}
		h.spaces[s.Path()] = s
		paths = append(paths, s.Path())
	}
	if len(paths) < n {
		return nil, errOver
	}
	return paths, nil
}

func (h *half) release(_ context.Context, paths []string) (struct{}, error) {
	var errs []error
	for _, path := range paths {
		h.mu.Lock()
		s := h.spaces[path]
		delete(h.spaces, path)
		h.mu.Unlock()
		if s != nil {
			errs = append(errs, nl.With(path, clear), s.Close())
		}
	}
	return struct{}{}, errors.Join(errs...)
}

// clear removes the devices of a namespace. The kernel removes them with it, but only some time after it was closed:
// until then a tunnel keeps its identifier. Devices that cannot be removed, such as tunl0, are left to that.
func clear(n *nl.NS) error {
	all, err := n.Interfaces()
	for _, d := range all {
		if d.Name != "lo" {
			_ = n.Remove(d.Name)
		}
	}
	return err
}
