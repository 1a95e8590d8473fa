package networktest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// objects lists the objects of an engine, nettoll's and others', and the namespaces that it hides.
func objects(t *testing.T, h *engine.Host) (lines []string) {
	t.Helper()
	c := h.Engine.Client
	containers, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	iferr.Fatal(t, err)
	for _, o := range containers.Items {
		if _, err := c.ContainerInspect(t.Context(), o.ID, client.ContainerInspectOptions{}); cerrdefs.IsNotFound(err) {
			continue // one that has been removed is listed for a moment
		}
		lines = append(lines, "container "+strings.Join(o.Names, " ")+" "+o.ID)
	}
	networks, err := c.NetworkList(t.Context(), client.NetworkListOptions{})
	iferr.Fatal(t, err)
	for _, o := range networks.Items {
		lines = append(lines, "network "+o.Name+" "+o.ID)
	}
	images, err := c.ImageList(t.Context(), client.ImageListOptions{All: true})
	iferr.Fatal(t, err)
	for _, o := range images.Items {
		lines = append(lines, "image "+strings.Join(o.RepoTags, " ")+" "+o.ID)
	}
	volumes, err := c.VolumeList(t.Context(), client.VolumeListOptions{})
	iferr.Fatal(t, err)
	for _, o := range volumes.Items {
		lines = append(lines, "volume "+o.Name)
	}
	return append(lines, hidden(t)...)
}

// hidden lists the network namespaces that engines hold by a mount, except that of the host, which
// is held from the first container in it on.
func hidden(t *testing.T) (lines []string) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	iferr.Fatal(t, err)
	for l := range strings.Lines(string(b)) {
		fields := strings.Fields(l)
		if strings.Contains(l, " - nsfs ") && !strings.HasSuffix(fields[4], "/default") {
			lines = append(lines, "namespace "+fields[4])
		}
	}
	return lines
}

// counters matches the counters that begin the lines of iptables-save, and end those of its chains.
var counters = regexp.MustCompile(`^\[\d+:\d+\] | \[\d+:\d+\]$`)

// Rules lists the iptables rules of a host as iptables-save prints them, without counters. Tables as the kernel makes them, without
// rules, are left out: since Docker 28, an engine leaves its table raw when the last container has ended.
func Rules(t *testing.T, h platform.Host) (lines []string) {
	t.Helper()
	for _, program := range []string{"iptables-save", "ip6tables-save"} {
		var table []string
		filled := false
		for l := range strings.Lines(output(t, h, program)) {
			l = counters.ReplaceAllString(strings.TrimSpace(l), "")
			switch {
			case l == "COMMIT":
				if filled {
					lines = append(lines, table...)
				}
				table, filled = nil, false
			case l != "" && !strings.HasPrefix(l, "#"):
				table = append(table, strings.TrimSuffix(program, "-save")+" "+l)
				filled = filled || !strings.HasPrefix(l, "*") && !strings.HasSuffix(l, " ACCEPT") || strings.HasPrefix(l, "-A ")
			}
		}
	}
	return lines
}

// output returns the standard output of a program run on an endpoint.
func output(t *testing.T, e platform.Endpoint, program string) string {
	t.Helper()
	var out bytes.Buffer
	p, err := e.Start(t.Context(), platform.Command{Path: program, Stdout: &out})
	if err == nil {
		err = p.Wait()
	}
	iferr.Fatal(t, err)
	return out.String()
}

// made returns the containers that nettoll has made on an engine, oldest first.
func made(t *testing.T, h *engine.Host) (all []container.InspectResponse) {
	t.Helper()
	c := h.Engine.Client
	list, err := c.ContainerList(t.Context(), client.ContainerListOptions{Filters: make(client.Filters).Add("label", engine.Label)})
	iferr.Fatal(t, err)
	for i := range list.Items {
		o := list.Items[len(list.Items)-1-i] // the list begins with the latest
		one, err := c.ContainerInspect(t.Context(), o.ID, client.ContainerInspectOptions{})
		iferr.Fatal(t, err)
		all = append(all, one.Container)
	}
	return all
}
