package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// topologyView is a sketch of a network: the path of its payload from the client down to the server, in a frame
// for each host, with the proof of each hop. Units are those of a view box of the same width as in charts.
type topologyView struct {
	Network        string
	Label          string // the whole sketch in words
	Height         int
	Frames         []frameView
	Client, Server endView
	Hops           []hopView
}

// frameView is the frame of a host.
type frameView struct {
	Host        string
	Top, Height int
}

type endView struct {
	Name, Role string
	Y, Width   int
}

type hopView struct {
	Y       int
	Name    string
	Kind    string // with the container that it is in
	Crossed string
	Besides string // the other count
	Need    string
	OK      bool
	Never   bool // the payload must not cross it
}

// Heights in a sketch, the largest numbers of letters of its names, and the width of a letter of an end.
const (
	sketchTitle   = 22 // of a frame
	sketchRow     = 34
	sketchBelow   = 4
	sketchApart   = 10
	sketchName    = 24
	sketchKind    = 22
	sketchEnd     = 22
	letterOfAnEnd = 8
)

func newTopology(l line) (topologyView, bool) {
	for _, row := range l.planned() {
		if len(row.Path) > 0 {
			return sketch(l.name, row.Path, row.Endpoints), true
		}
	}
	return topologyView{}, false
}

// sketch lays out the hops of a path from top to bottom: of several clients and servers, first those of clients and of their hosts, then
// what is between them and servers, then those of servers' hosts and of servers.
func sketch(network string, path []record.Hop, ends []record.Endpoint) topologyView {
	v := topologyView{Network: network}
	hosts := map[string]string{} // of containers
	named := map[string][]record.Endpoint{}
	place := map[string]int{} // of the hops in a container or on a host
	for _, e := range ends {
		if e.Host != "" {
			hosts[e.Name] = e.Host
		}
		if e.Name != "" {
			named[e.Role] = append(named[e.Role], e)
			side := map[string]int{"client": -1, "server": 1}[e.Role]
			if other, known := place[e.Host]; known && other != side { // both are there
				side = 0
			}
			if e.Host != "" {
				place[e.Host] = side
			}
			place[e.Name] = map[string]int{"client": -2, "server": 2}[e.Role]
		}
	}
	end := func(role string) record.Endpoint {
		all := record.Distinct(named[role], func(e record.Endpoint) string { return e.Name })
		if len(all) == 0 {
			return record.Endpoint{Name: role}
		}
		e := named[role][0]
		if len(all) > 1 {
			e.Name += fmt.Sprintf(" and %d more", len(all)-1)
		}
		return e
	}
	client, server := end("client"), end("server")
	if len(ends) > 2 {
		inside := func(h record.Hop) int {
			where, _, _ := strings.Cut(h.Name, "/")
			return place[where]
		}
		path = slices.SortedStableFunc(slices.Values(path), func(a, b record.Hop) int { return inside(a) - inside(b) })
	}
	// Hops in a container belong to the frame of its host. A name without a place belongs to the
	// place of the previous hop.
	hostOf := func(where, before string) string {
		return cmp.Or(hosts[where], where, before)
	}
	y := 0
	row := func(host string) int {
		last := len(v.Frames) - 1
		if last < 0 || v.Frames[last].Host != host {
			if last >= 0 {
				y += sketchApart
			}
			v.Frames = append(v.Frames, frameView{Host: host, Top: y, Height: sketchTitle + sketchBelow})
			y += sketchTitle + sketchBelow
			last++
		}
		v.Frames[last].Height += sketchRow
		y += sketchRow
		return y - sketchBelow - sketchRow/2
	}
	first, _, _ := strings.Cut(path[0].Name, "/")
	host := cmp.Or(client.Host, hostOf(first, "")) // if its host is not known, the client is where its path begins
	v.Client = newEnd(client.Name, "client", row(host))
	for _, h := range path {
		where, name, placed := strings.Cut(h.Name, "/")
		if !placed {
			where, name = "", h.Name
		}
		host = hostOf(where, host)
		hop := newHop(h, name)
		if where != "" && where != host {
			hop.Kind += " in " + where
		}
		hop.Y = row(host)
		v.Hops = append(v.Hops, hop)
	}
	v.Server = newEnd(server.Name, "server", row(cmp.Or(server.Host, host)))
	v.Height = y
	v.Label = v.words()
	for i := range v.Hops {
		h := &v.Hops[i]
		h.Name, h.Kind = cut(h.Name, sketchName), cut(h.Kind, sketchKind)
	}
	return v
}

func newEnd(name, role string, y int) endView {
	name = cut(name, sketchEnd)
	return endView{Name: name, Role: role, Y: y, Width: 16 + letterOfAnEnd*displayWidth(name)}
}

func newHop(h record.Hop, name string) hopView {
	v := hopView{Name: name, Kind: cmp.Or(h.About, h.Kind), OK: h.OK, Never: h.Absent}
	v.Crossed = packets(h.Packets)
	if h.Bytes > 0 {
		v.Crossed, v.Besides = byteCount(h.Bytes), v.Crossed
		if h.Unit == "packets" {
			v.Crossed, v.Besides = v.Besides, v.Crossed
		}
	}
	amount := packets
	if h.Unit == "bytes" {
		amount = byteCount
	}
	v.Need = "at least " + amount(h.Need)
	switch {
	case h.Absent:
		v.Need = "at most " + amount(h.Need)
	case h.Fewer != nil:
		v.Crossed, v.Besides = amount(*h.Fewer)+" in one direction", v.Crossed+" in both"
		v.Need += " in each"
	}
	return v
}

func packets(n uint64) string { return count(n) + " " + plural(int(n), "packet") }

// words describes the sketch for readers who cannot see it.
func (v topologyView) words() string {
	parts := []string{fmt.Sprintf("The path of %s: from the client %s", v.Network, v.Client.Name)}
	for _, h := range v.Hops {
		proof := "proved"
		if !h.OK {
			proof = "not proved"
		}
		text := fmt.Sprintf("%s %s: %s, %s, %s", h.Kind, h.Name, h.Crossed, h.Need, proof)
		if h.Never {
			text = "not over " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(append(parts, "to the server "+v.Server.Name), "; ") + "."
}

// Paths returns the paths of the networks of a section.
func (s *section) Paths() []topologyView { return record.Found(s.group.lines, newTopology) }

// sweptPaths returns the paths of networks that only sweeps contain, one for each network and number of hosts.
func sweptPaths(res analysis.Result) []topologyView {
	swept := swept(res)
	var all []topologyView
	var seen []string
	for _, s := range res.Scenarios {
		if !swept[s.Cell.Scenario().Key()] {
			continue
		}
		for i := range s.Rows {
			row := &s.Rows[i]
			name := networkName(row.Cell)
			key := fmt.Sprintf("%s/%d", name, s.Cell.Hosts)
			if slices.Contains(seen, key) {
				continue
			}
			if p, ok := newTopology(line{name: name, rows: []*analysis.Row{row}}); ok {
				seen = append(seen, key)
				all = append(all, p)
			}
		}
	}
	return all
}
