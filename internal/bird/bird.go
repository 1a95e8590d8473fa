// Package bird runs BIRD on the hosts of a site, so that each learns by BGP which of the
// others has which containers, as Calico's hosts do.
package bird

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
)

// Find gives the path of BIRD.
func Find(paths program.Paths) (string, error) {
	return paths.Locate("bird", "apt install bird2")
}

// Mesh is a BIRD on each host, all of which talk to all others.
type Mesh struct {
	plumb.Routes // that they are to write
	Paths        program.Paths
	// Tunnel is the IPIP device that leads to the other hosts; empty where packets for them
	// go to the underlay as they are.
	Tunnel string
}

// Start runs BIRD on every host, where there are several, and returns when each has
// routes to the containers of all others.
func (m Mesh) Start(ctx context.Context) ([]*daemon.Daemon, error) {
	s := m.Site
	if len(s.Hosts) == 1 {
		return nil, nil // a router that has nobody to tell
	}
	path, err := Find(m.Paths)
	if err != nil {
		return nil, err
	}
	dir, err := daemon.State(&s.Stack)
	if err != nil {
		return nil, err
	}
	return s.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		file := func(ending string) string { return filepath.Join(dir, h.Name()+ending) }
		if err := os.WriteFile(file(".conf"), []byte(m.config(h)), 0o644); err != nil {
			return nil, err
		}
		return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
			Name: "bird", Path: path,
			Args:      []string{"-f", "-c", file(".conf"), "-s", file(".ctl"), "-P", file(".pid")},
			Ready:     func(context.Context) error { return m.Reach(h) },
			Complaint: func(line string) bool { return strings.Contains(line, "<ERR>") || strings.Contains(line, "<BUG>") },
		})
	})
}
