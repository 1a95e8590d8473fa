package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"nettoll/kube"
)

const (
	clusterRuns = 3
	clusterAim  = 30.0 // seconds
	growthAim   = 10.0 // MB
)

// cluster starts private clusters of two nodes, and measures the time until a command runs on the first of them.
func cluster(ctx context.Context, w *work) error {
	for _, name := range kube.Programs() {
		if _, err := exec.LookPath(name); err != nil {
			fmt.Fprintln(os.Stderr, "cluster: left out, since make kube has not run:", err)
			return nil
		}
	}
	var up ratios
	for range clusterRuns {
		cmd := interruptible(ctx, w.program, "lab", "kubernetes", "--nodes", "2", "--", "echo", "up")
		var took time.Duration
		begin := time.Now()
		cmd.Stdout = writer(func([]byte) { took = time.Since(begin) })
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("nettoll lab kubernetes: %w", err)
		}
		up = append(up, took.Seconds())
	}
	up.show("seconds until a cluster of two nodes is up", false, clusterAim)
	return nil
}

// writer is called with all that is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// withoutClientGo takes the place of the only file that imports client-go. It opens no cluster, but has all that the others use.
const withoutClientGo = `package kube

import (
	"context"
	"net"
	"net/http"
)

type Login struct {
	Config, Context, Namespace string
	Dial                       func(ctx context.Context, network, addr string) (net.Conn, error)
}

type entrance struct {
	*API
	namespace, context, user string
}

type Mistake struct{ error }

func (m Mistake) Unwrap() error { return m.error }

func (l Login) open() (*entrance, error) {
	by := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
	return &entrance{API: &API{URL: l.Config, requests: by, streams: by}, context: l.Context, namespace: l.Namespace}, nil
}

func Contexts() []string { return nil }
`

// size builds nettoll as make does, with client-go and without.
func size(ctx context.Context, w *work) error {
	real, err := filepath.Abs("kube/kubeconfig.go")
	if err != nil {
		return err
	}
	stub, overlay := filepath.Join(w.dir, "kubeconfig.go"), filepath.Join(w.dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{real: stub}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(stub, []byte(withoutClientGo), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return err
	}
	with, err := sizeOf(ctx, w)
	if err != nil {
		return err
	}
	without, err := sizeOf(ctx, w, "-overlay", overlay)
	if err != nil {
		return err
	}
	fmt.Printf("nettoll has %.1f MB, and %.1f MB without client-go\n", with, without)
	ratios{with - without}.show("MB of nettoll that client-go adds", false, growthAim)
	return nil
}

// sizeOf builds nettoll and returns its size in MB.
func sizeOf(ctx context.Context, w *work, args ...string) (float64, error) {
	program := filepath.Join(w.dir, "nettoll-size")
	var said bytes.Buffer
	build := exec.CommandContext(ctx, "go", append(append([]string{"build", "-ldflags", "-s -w", "-o", program}, args...), "./cmd/nettoll")...)
	build.Stderr = &said
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("go build: %w: %s", err, said.String())
	}
	info, err := os.Stat(program)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}
