package report

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestNoteGroups: every doubt stands once in one group, numbers go on from group to group, and no group is empty.
func TestNoteGroups(t *testing.T) {
	results := awkward()
	for _, name := range slices.Sorted(maps.Keys(results)) {
		res := results[name]
		n := newNotes(res)
		want, got, next := map[string]int{}, map[string]int{}, 1
		for _, w := range slices.Concat(n.list, res.Warnings) {
			want[sentenceOf(w)]++
		}
		for _, g := range n.groups(res) {
			if len(g.Notes)+len(g.OfRun) == 0 {
				t.Errorf("%s: nothing stands below %s", name, g.Title)
			}
			for _, note := range g.Notes {
				if got[note.Text]++; note.Number != next {
					t.Errorf("%s: note %d comes after %d", name, note.Number, next-1)
				}
				if id := n.groupOf(note.Number); id != g.ID {
					t.Errorf("%s: note %d is looked for below %s and stands below %s", name, note.Number, id, g.ID)
				}
				next++
			}
			for _, text := range g.OfRun {
				got[text]++
			}
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s: doubts are %v, listed are %v", name, want, got)
		}
	}
}

// TestNotesInEveryFormat: what people read has all doubts, each below the heading of its group, and refers to no
// others.
func TestNotesInEveryFormat(t *testing.T) {
	results := awkward()
	for _, name := range []string{"ordinary", "many"} {
		res := results[name]
		groups := newNotes(res).groups(res)
		count := len(newNotes(res).list)
		if count == 0 {
			t.Fatalf("%s: nothing is to doubt", name)
		}
		for _, format := range []string{"text", "md", "html"} {
			page := write(t, format, res, Options{})
			at := 0
			find := func(text string) {
				found := strings.Index(page[at:], text)
				if found < 0 {
					t.Fatalf("%s.%s: %q is missing, or not in its place", name, format, text)
				}
				at += found
			}
			for _, g := range groups {
				find(map[string]string{"text": g.Title + ":", "md": "### " + g.Title, "html": `<h3 id="` + g.ID + `">` + g.Title}[format])
				for _, note := range g.Notes {
					find(map[string]string{"text": superscript([]int{note.Number}) + " " + printable(note.Text), "md": markdown(note.Text), "html": string(flags(note.Text))}[format])
				}
			}
		}
	}
}
