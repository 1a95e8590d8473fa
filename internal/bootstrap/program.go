package bootstrap

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
)

// Program is an agent, ready to be sent.
type Program struct {
	packed []byte // compressed by gzip
	sum    string // SHA-256 of what was compressed, in hexadecimal digits
}

// Pack reads and compresses a program.
func Pack(file string) (*Program, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the agent: %w", err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("compress the agent: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress the agent: %w", err)
	}
	sum := sha256.Sum256(text)
	return &Program{packed: b.Bytes(), sum: hex.EncodeToString(sum[:])}, nil
}

// goArch maps kinds of machines, as uname -m names them, to architectures as Go names them.
var goArch = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "armv7l": "arm", "armv6l": "arm", "i686": "386", "i386": "386",
	"ppc64le": "ppc64le", "riscv64": "riscv64", "s390x": "s390x", "loongarch64": "loong64",
}

// Agents finds the agent for each kind of machine, and packs each once. It may be used concurrently.
type Agents struct {
	// File returns the program for an architecture, as Go names it.
	File func(arch string) (string, error)

	mu     sync.Mutex
	packed map[string]*Program
}

// For returns the agent for a kind of machine, as uname -m names it.
func (a *Agents) For(kind string) (*Program, error) {
	arch, known := goArch[kind]
	if !known {
		return nil, fmt.Errorf("it is a machine of kind %q, for which there is no agent", kind)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.packed[arch]; p != nil {
		return p, nil
	}
	file, err := a.File(arch)
	if err != nil {
		return nil, fmt.Errorf("it is a machine of kind %s: %w", kind, err)
	}
	p, err := Pack(file)
	if err != nil {
		return nil, err
	}
	if a.packed == nil {
		a.packed = map[string]*Program{}
	}
	a.packed[arch] = p
	return p, nil
}
