package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"nettoll/internal/bootstrap"
	"nettoll/platform"
	"nettoll/record"
)

// wanted is a program that is to be started on the machine.
type wanted struct {
	Path  string   `json:"path"`
	Sum   string   `json:"sum"`             // SHA-256 of the program here
	Parts []string `json:"parts,omitempty"` // of the files it is loaded from, if it can be sent
}

// found is what the machine has of it.
type found struct {
	Arch  string `json:"arch"`            // as Go names it
	There bool   `json:"there,omitempty"` // a program is at the path
	Same  bool   `json:"same,omitempty"`  // and it is the same
	// Files are where the parts are; empty for those that have not been sent.
	Files []string `json:"files,omitempty"`
}

// piece is a piece of a compressed file.
type piece struct {
	Sum  string `json:"sum"`
	At   int    `json:"at,omitempty"` // where it begins in the compressed file
	Data []byte `json:"data"`
	Last bool   `json:"last,omitempty"`
}

// tools remembers which programs a machine has been asked for, by their paths here: the files there that a program is
// loaded from if it was sent, and none if the machine has it.
type tools struct {
	from *bootstrap.Tools // nil: none are sent

	mu   sync.Mutex
	sent map[string][]string
}

// Send makes a program of this machine available on the other: see platform.Facts.
func (m *Machine) Send(ctx context.Context, path string, alone bool) ([]string, error) {
	m.tools.mu.Lock()
	defer m.tools.mu.Unlock()
	if files, ok := m.tools.sent[path]; ok {
		return files, nil
	}
	files, err := m.send(ctx, path, alone)
	if err != nil {
		return nil, err
	}
	if m.tools.sent == nil {
		m.tools.sent = map[string][]string{}
	}
	m.tools.sent[path] = files
	return files, nil
}

func (m *Machine) send(ctx context.Context, path string, alone bool) ([]string, error) {
	w := wanted{Path: path}
	var parts []*bootstrap.Program
	var why error
	if alone {
		if parts, why = m.tools.from.Parts(path); errors.Is(why, fs.ErrNotExist) {
			return nil, why
		}
	} else {
		why = errors.New("it needs other files, too")
	}
	w.Parts = record.Each(parts, (*bootstrap.Program).Sum)
	var err error
	if w.Sum, err = bootstrap.Sum(path); err != nil {
		return nil, err
	}
	var has found
	if err := m.Call(ctx, methodTool, w, &has); err != nil {
		return nil, err
	}
	if has.Arch != runtime.GOARCH && why == nil {
		why = fmt.Errorf("the machine there is %s, and this one %s", has.Arch, runtime.GOARCH)
	}
	switch {
	case has.Same, has.There && why != nil:
		return nil, nil
	case why != nil:
		return nil, &platform.Unsupported{
			Feature: filepath.Base(path) + " on " + m.name, Option: "the program " + path + " there",
			Remedy: "install it there", Err: fmt.Errorf("that of this machine cannot be sent: %w", why),
		}
	}
	for i, p := range parts {
		if has.Files[i] != "" {
			continue
		}
		if err := m.part(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := m.Call(ctx, methodTool, w, &has); err != nil {
		return nil, err
	}
	return has.Files, nil
}

// pieceSize is the size of pieces, in bytes: a call has room for one over 64 kbit/s.
const pieceSize = 128 << 10

// part sends a file.
func (m *Machine) part(ctx context.Context, p *bootstrap.Program) error {
	all := p.Packed()
	for at := 0; at < len(all); at += pieceSize {
		end := min(at+pieceSize, len(all))
		if err := m.Call(ctx, methodPart, piece{p.Sum(), at, all[at:end], end == len(all)}, nil); err != nil {
			return err
		}
	}
	return nil
}

// parts are the files that were sent to this machine. They are in memory, so that nothing of them is left when the
// agent ends, in whatever way.
type parts struct {
	mu     sync.Mutex
	coming map[string]*bytes.Buffer // compressed, by the SHA-256 of the whole
	files  map[string]*os.File      // by SHA-256
}

// tool says what this machine has of a program.
func (p *parts) tool(_ context.Context, w wanted) (found, error) {
	f := found{Arch: runtime.GOARCH}
	if _, err := exec.LookPath(w.Path); err == nil {
		sum, err := bootstrap.Sum(w.Path)
		f.There, f.Same = true, err == nil && sum == w.Sum // a program that may not be read can still be started
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sum := range w.Parts {
		at := ""
		if file := p.files[sum]; file != nil {
			at = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
		}
		f.Files = append(f.Files, at)
	}
	return f, nil
}

// part receives a piece of a file.
func (p *parts) part(_ context.Context, c piece) (struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.coming[c.Sum]
	if b == nil || c.At == 0 { // an earlier caller may have given up
		b = &bytes.Buffer{}
		p.coming[c.Sum] = b
	}
	if b.Len() != c.At {
		return struct{}{}, fmt.Errorf("receive a program: %d bytes have come, and the next are those from %d on", b.Len(), c.At)
	}
	b.Write(c.Data)
	if !c.Last {
		return struct{}{}, nil
	}
	delete(p.coming, c.Sum)
	if p.files[c.Sum] != nil { // the answer of an earlier caller was lost
		return struct{}{}, nil
	}
	file, err := unpack(b, c.Sum)
	if err == nil {
		p.files[c.Sum] = file
	}
	return struct{}{}, err
}

// unpack decompresses a file into memory and checks its SHA-256. Nobody can change the result any more.
func unpack(packed io.Reader, sum string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("nettoll-tool", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, where all can be executed
		fd, err = unix.MemfdCreate("nettoll-tool", flags)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in memory that can be executed: %w; install the program there instead", err)
	}
	f := os.NewFile(uintptr(fd), "nettoll-tool")
	err = func() error {
		r, err := gzip.NewReader(packed)
		if err != nil {
			return err
		}
		h := sha256.New()
		if _, err := io.Copy(io.MultiWriter(f, h), r); err != nil {
			return err
		}
		if hex.EncodeToString(h.Sum(nil)) != sum {
			return errors.New("its SHA-256 differs")
		}
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
		return err
	}()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("receive a program: %w", err)
	}
	return f, nil
}
