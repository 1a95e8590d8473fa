package report

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"nettoll/analysis"
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

func TestCountsAreMerged(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  string
	}{
		{[]string{"busy (in 5 of 8 trials)", "busy (in 1 of 8 trials)", "busy (in 3 of 8 trials)"}, "busy (in 1 to 5 of 8 trials)"},
		{[]string{"busy (in 9 of 9 trials)", "busy (in 10 of 10 trials)"}, "busy (in all of 9 to 10 trials)"},
		{[]string{"busy (in 9 of 9 trials)", "busy (in 10 of 10 trials)", "busy (in 2 of 10 trials)"}, "busy (in 2 to 10 of 9 to 10 trials)"},
		{[]string{"1 of 16 values of latency are outliers", "2 of 16 values of latency are outliers"}, "1 to 2 of 16 values of latency are outliers"},
		{[]string{"1 of 2 flows were cold (in 1 of 8 trials)", "2 of 2 flows were cold (in 3 of 8 trials)"}, "1 to 2 of 2 flows were cold (in 1 to 3 of 8 trials)"},
		{[]string{"something used 0.4 CPU seconds a second of the machine (in 1 of 8 trials)", "something used 12 CPU seconds a second of the machine (in 2 of 8 trials)",
			"something used 0.31 CPU seconds a second of the machine (in 1 of 8 trials)"}, "something used 0.31 to 12 CPU seconds a second of the machine (in 1 to 2 of 8 trials)"},
		{[]string{"the same (in 1 of 8 trials)", "the same (in 1 of 8 trials)"}, "the same (in 1 of 8 trials)"},
	} {
		var n notes
		for range 2 { // numbers are asked for again and again
			for _, text := range tt.texts {
				if got := n.number(analysis.Warning{Code: "code", Text: text}); got != 1 {
					t.Errorf("%q has the number %d", text, got)
				}
			}
		}
		if n.list[0].Text != tt.want {
			t.Errorf("%q, want %q", n.list[0].Text, tt.want)
		}
	}
	var n notes
	for i, w := range []analysis.Warning{{Code: "a", Text: "MTU 1500 (in 1 of 8 trials)"}, {Code: "a", Text: "MTU 1450 (in 1 of 8 trials)"},
		{Code: "b", Text: "MTU 1500 (in 1 of 8 trials)"}, {Code: "a", Text: "MTU 1500 (in 1 of 8 trials)", Advice: "wait"}, {Code: "a", Text: "MTU 1500 (in 1 of 8 rounds)"}} {
		if got := n.number(w); got != i+1 {
			t.Errorf("%+v has the number %d, want %d", w, got, i+1)
		}
	}
}

func TestNamesKeepTheirLetters(t *testing.T) {
	for text, want := range map[string]string{
		"h1's lo has an MTU of 65536":    "h1's lo has an MTU of 65536.",
		"node-a's eth0 is down":          "node-a's eth0 is down.",
		"h1/veth0 lost 3 packets":        "h1/veth0 lost 3 packets.",
		"flanneld: exit status 1":        "flanneld: exit status 1.",
		"latency p50 changes slowly":     "Latency p50 changes slowly.",
		"not set up as native: MTU 1500": "Not set up as native: MTU 1500.",
		"":                               ".",
	} {
		if got := sentenceOf(analysis.Warning{Text: text}); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// What cells with tables of their own doubt is not told once more for the sweep that they stand in.
func TestSweepsRepeatNoDoubts(t *testing.T) {
	f := loadsFile()
	for i := range f.Trials {
		f.Trials[i].Warnings = append(f.Trials[i].Warnings, steal)
	}
	few := f.Trials[:0]
	for _, tr := range f.Trials {
		if tr.Cell.Options.Rate <= 5000 {
			few = append(few, tr)
		}
	}
	f.Trials, f.Run.Cells = few, f.Run.Cells[:6]
	res := analysis.Analyze(f)
	if len(apart(res)) != 2 || len(res.Sweeps) != 1 {
		t.Fatalf("%d tables, %d sweeps", len(apart(res)), len(res.Sweeps))
	}
	if text := write(t, "text", res, Options{}); strings.Count(text, steal.Text[4:]) != 1 {
		t.Errorf("told more than once:\n%s", text)
	}
}

func TestFlagsStayWhole(t *testing.T) {
	const want = `measure with <span class="flag">--offload</span> off &lt;b&gt; or <span class="flag">--max-rounds</span> 9`
	if got := string(flags("measure with --offload off <b> or --max-rounds 9")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
