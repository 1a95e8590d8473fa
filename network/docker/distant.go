package docker

import (
	"slices"

	"nettoll/internal/dockerd"
)

// Distant implements network.Distant.
func (n *build) Distant() bool {
	return slices.ContainsFunc(n.hosts, func(h *dockerd.Host) bool { return !h.Here() })
}
