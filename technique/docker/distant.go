package docker

import (
	"slices"

	"nettoll/internal/dockerd"
)

// Distant implements technique.Distant.
func (n *network) Distant() bool {
	return slices.ContainsFunc(n.hosts, func(h *dockerd.Host) bool { return !h.Here() })
}
