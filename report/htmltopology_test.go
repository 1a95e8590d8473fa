package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// overlaid returns a path between containers on two hosts.
func overlaid() ([]record.Hop, []record.Endpoint) {
	hop := func(name, kind string, ok, absent bool) record.Hop {
		return record.Hop{Name: name, Kind: kind, Packets: 1000, Bytes: 1e6, Need: 9e5, Unit: "bytes", OK: ok, Absent: absent}
	}
	return []record.Hop{
			hop("h2c1/eth0", "device", true, false), hop("h2/br0", "device", true, false), hop("h2/eth1", "device", true, true), hop("h2/vxlan0", "device", false, false),
			hop("h1/vxlan0", "device", true, false), hop("h1/daemon", "process", true, false), hop("h1c1/eth0", "device", true, false),
		}, []record.Endpoint{
			{Name: "h2c1", Role: "client", Host: "h2"}, {Name: "h1c1", Role: "server", Host: "h1"},
		}
}

func TestTopology(t *testing.T) {
	path, ends := overlaid()
	v := sketch("vxlan", path, ends)
	frames := record.Each(v.Frames, func(f frameView) string { return f.Host })
	if want := []string{"h2", "h1"}; !slices.Equal(frames, want) {
		t.Errorf("frames of %v, want %v: what lies in a container stands on its host", frames, want)
	}
	if v.Client.Name != "h2c1" || v.Server.Name != "h1c1" || v.Hops[0].Kind != "device in h2c1" || v.Hops[1].Kind != "device" {
		t.Errorf("from %v to %v over %v", v.Client, v.Server, v.Hops)
	}
	for i, h := range v.Hops {
		if h.OK != path[i].OK || h.Never != path[i].Absent || !strings.HasSuffix(path[i].Name, h.Name) {
			t.Errorf("hop %d is %+v, want %+v", i, h, path[i])
		}
	}
	want := "The path of vxlan: from the client h2c1; device in h2c1 eth0: 1.00\u00a0MB, at least 900\u00a0kB, proved; device br0: 1.00\u00a0MB, at least 900\u00a0kB, proved; " +
		"not over device eth1: 1.00\u00a0MB, at most 900\u00a0kB, proved; device vxlan0: 1.00\u00a0MB, at least 900\u00a0kB, not proved; "
	if !strings.HasPrefix(v.Label, want) || !strings.HasSuffix(v.Label, "; to the server h1c1.") {
		t.Errorf("in words: %s", v.Label)
	}
}

// TestTopologyOfSeveralClients: no packet goes from one client to the other.
func TestTopologyOfSeveralClients(t *testing.T) {
	var path []record.Hop
	for _, name := range []string{"h1c1/eth0", "h1/br0", "h1s1/eth0", "h1c2/eth0"} { // as the proof finds them, pair by pair
		path = append(path, record.Hop{Name: name, Kind: "device"})
	}
	v := sketch("bridge", path, []record.Endpoint{
		{Role: "client", Name: "h1c1", Host: "h1"}, {Role: "server", Name: "h1s1", Host: "h1"}, {Role: "client", Name: "h1c2", Host: "h1"},
	})
	kinds := record.Each(v.Hops, func(h hopView) string { return h.Kind })
	if want := []string{"device in h1c1", "device in h1c2", "device", "device in h1s1"}; !slices.Equal(kinds, want) || v.Client.Name != "h1c1 and 1 more" || v.Server.Name != "h1s1" {
		t.Errorf("from %s over %q to %s", v.Client.Name, kinds, v.Server.Name)
	}
	path = nil
	for _, name := range []string{"h2c1/eth0", "h2/up", "h1/up", "h1s1/eth0", "h3c1/eth0", "h3/up"} {
		path = append(path, record.Hop{Name: name, Kind: "device"})
	}
	v = sketch("vxlan", path, []record.Endpoint{
		{Role: "client", Name: "h2c1", Host: "h2"}, {Role: "server", Name: "h1s1", Host: "h1"}, {Role: "client", Name: "h3c1", Host: "h3"},
	})
	frames := record.Each(v.Frames, func(f frameView) string { return f.Host })
	if frames[len(frames)-1] != "h1" || slices.Index(frames, "h1") != len(frames)-1 {
		t.Errorf("frames of %q", frames)
	}
}

// TestHopOfWhichOneDirectionWasMissed shows that direction.
func TestHopOfWhichOneDirectionWasMissed(t *testing.T) {
	fewer := uint64(3)
	v := newHop(record.Hop{Name: "h1/br0", Kind: "device", Packets: 5000, Bytes: 1e6, Need: 2000, Unit: "packets", Fewer: &fewer}, "br0")
	if v.Crossed != "3 packets in one direction" || v.Besides != "5,000 packets in both" || v.Need != "at least 2,000 packets in each" {
		t.Errorf("%q, %q, %q", v.Crossed, v.Besides, v.Need)
	}
}

// TestTopologyWithoutHosts: for files from before endpoints named their hosts, there is a frame for each place.
func TestTopologyWithoutHosts(t *testing.T) {
	path, _ := overlaid()
	v := sketch("vxlan", append(path, record.Hop{Name: "alone", Kind: "rule"}), nil)
	frames := record.Each(v.Frames, func(f frameView) string { return f.Host })
	if want := []string{"h2c1", "h2", "h1", "h1c1"}; !slices.Equal(frames, want) {
		t.Errorf("frames of %v, want %v", frames, want)
	}
}

// TestTopologyHasPlaces: for any path, each row of its sketch is below the one before, in
// one frame, and frames do not overlap.
func TestTopologyHasPlaces(t *testing.T) {
	sketches := 0
	for name, res := range awkward() {
		for _, g := range apart(res) {
			for _, l := range g.lines {
				v, ok := newTopology(l)
				if !ok {
					continue
				}
				sketches++
				if err := misplaced(v); err != nil {
					t.Errorf("%s, %s: %v", name, l.name, err)
				}
				row, _ := record.First(l.rows, func(r *analysis.Row) bool { return r != nil && len(r.Path) > 0 })
				if len(v.Hops) != len(row.Path) {
					t.Errorf("%s, %s: %d hops are drawn of %d", name, l.name, len(v.Hops), len(row.Path))
				}
			}
		}
	}
	if sketches < 20 {
		t.Errorf("only %d sketches", sketches)
	}
}

// misplaced returns what is wrong with the layout of a sketch.
func misplaced(v topologyView) error {
	below := 0
	for _, f := range v.Frames {
		if f.Top < below {
			return fmt.Errorf("the frame of %s begins at %d, the one above it ends at %d", f.Host, f.Top, below)
		}
		below = f.Top + f.Height
	}
	if below != v.Height {
		return fmt.Errorf("frames end at %d of %d", below, v.Height)
	}
	rows := []int{v.Client.Y}
	for _, h := range v.Hops {
		rows = append(rows, h.Y)
	}
	for i, y := range append(rows, v.Server.Y) {
		if i > 0 && y < rows[i-1]+sketchRow {
			return fmt.Errorf("row %d is at %d, the one above it at %d", i, y, rows[i-1])
		}
		if !slices.ContainsFunc(v.Frames, func(f frameView) bool { return y-sketchRow/2 >= f.Top && y+sketchRow/2 <= f.Top+f.Height }) {
			return fmt.Errorf("row %d at %d is in no frame", i, y)
		}
	}
	return nil
}

func TestSeenWriter(t *testing.T) {
	const text, want = "line: é €\t\u202e\xff\nno newline \u2066", "line: é €\t·\ufffd\nno newline ·"
	var got strings.Builder
	if n, err := (seenWriter{&got}).Write([]byte(text)); err != nil || n != len(text) || got.String() != want {
		t.Errorf("%d bytes written as %q, %v; want %q", n, got.String(), err, want)
	}
}
