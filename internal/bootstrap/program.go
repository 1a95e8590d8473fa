package bootstrap

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"nettoll/record"
)

// Program is a file of this machine, ready to be sent: an agent, or a part of another program.
type Program struct {
	packed []byte // compressed by gzip
	sum    string // SHA-256 of what was compressed, in hexadecimal digits
}

// Sum returns the SHA-256 of the file, in hexadecimal digits.
func (p *Program) Sum() string { return p.sum }

// Packed returns the file, compressed by gzip.
func (p *Program) Packed() []byte { return p.packed }

// Pack reads and compresses a program.
func Pack(file string) (*Program, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read what is to be sent: %w", err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(text)
	if err := cmp.Or(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress %s: %w", file, err)
	}
	sum := sha256.Sum256(text)
	return &Program{packed: b.Bytes(), sum: hex.EncodeToString(sum[:])}, nil
}

// packs packs each file once. It may be used concurrently.
type packs struct {
	mu  sync.Mutex
	all map[string]*Program
}

func (p *packs) pack(file string) (*Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.all[file]; one != nil {
		return one, nil
	}
	one, err := Pack(file)
	if err != nil {
		return nil, err
	}
	if p.all == nil {
		p.all = map[string]*Program{}
	}
	p.all[file] = one
	return one, nil
}

// goArch maps kinds of machines, as uname -m names them, to architectures as Go names them.
var goArch = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "ppc64le": "ppc64le", "riscv64": "riscv64", "s390x": "s390x", "loongarch64": "loong64",
}

// Agents finds the agent for each kind of machine, and packs each once. It may be used concurrently.
type Agents struct {
	// File returns the program for an architecture, as Go names it.
	File func(arch string) (string, error)

	packs
}

// ErrNoAgent is the error for machines that there is no agent for.
var ErrNoAgent = errors.New("there is no agent")

// noAgent is why the file of an agent is not there.
type noAgent struct{ error }

// Is makes errors.Is(err, ErrNoAgent) true.
func (noAgent) Is(target error) bool { return target == ErrNoAgent }

// For returns the agent for a kind of machine, as uname -m names it, or an ErrNoAgent.
func (a *Agents) For(kind string) (*Program, error) {
	arch, known := goArch[kind]
	if !known {
		return nil, fmt.Errorf("it is a machine of kind %q, for which %w", kind, ErrNoAgent)
	}
	file, err := a.File(arch)
	if err != nil {
		return nil, fmt.Errorf("it is a machine of kind %s: %w", kind, noAgent{err})
	}
	return a.pack(file)
}

// Tools finds the files that tools of this machine are loaded from, and packs each once. It may be used concurrently.
type Tools struct {
	// Files returns the files of a program, as keeper.Sent wants them, or why they cannot be sent.
	Files func(program string) ([]string, error)

	packs
}

// Parts returns what a program is loaded from.
func (t *Tools) Parts(program string) ([]*Program, error) {
	files, err := t.Files(program)
	if err != nil {
		return nil, err
	}
	return record.Tried(files, t.pack)
}

// Sum returns the SHA-256 of a file, in hexadecimal digits.
func Sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
