package report

import (
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/reference"
)

// TestConclusions holds the words to what the figures say.
func TestConclusions(t *testing.T) {
	for _, tt := range []struct {
		outcome, published analysis.Judgement
		text, want         string
	}{
		{analysis.Holds, analysis.Holds, "holds here: in 5 of 6 cells", "Holds here: “ovs is fastest”: in 5 of 6 cells."},
		{analysis.DoesNotHold, analysis.Holds, "does not hold here: in 1 of 6 cells.", "Does not hold here: “ovs is fastest”: in 1 of 6 cells."},
		{analysis.CannotTell, analysis.DoesNotHold, "", "Cannot be told here: “ovs is fastest”. The figures of the source itself do not show it."},
		{analysis.NotMeasurable, analysis.NotMeasurable, "this is advice", "No measurement can tell: “ovs is fastest”: this is advice."},
	} {
		c := analysis.CheckedConclusion{Conclusion: reference.Conclusion{Text: "ovs is fastest."}, Published: tt.published, Measured: tt.outcome, Text: tt.text}
		if got := conclusionSaying(c).String(); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func TestPublishedCell(t *testing.T) {
	for _, tt := range []struct {
		table reference.Table
		cell  analysis.ReplicatedCell
		want  string
	}{
		{reference.Table{}, analysis.ReplicatedCell{Published: reference.Published{Value: 11.6}, PublishedRatio: 1.16}, "11.6 (116%)"},
		{reference.Table{}, analysis.ReplicatedCell{Published: reference.Published{Value: 2.23}, PublishedRatio: 0.091}, "2.23 (9.1%)"},
		{reference.Table{Relative: true}, analysis.ReplicatedCell{Published: reference.Published{Value: -16}, PublishedRatio: 0.84}, "−16% (84%)"},
		{reference.Table{Relative: true}, analysis.ReplicatedCell{Published: reference.Published{Value: 258}, PublishedRatio: 3.58}, "+258% (358%)"},
		{reference.Table{}, analysis.ReplicatedCell{Published: reference.Published{Missing: "as printed"}}, "not given"},
	} {
		if got := publishedCell(tt.table, tt.cell).text(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestFewPairsSayNothing keeps a correlation of one pair from being called exact.
func TestFewPairsSayNothing(t *testing.T) {
	table := analysis.ReplicatedTable{Table: reference.Table{Name: "throughput"}, Order: analysis.Correlation{Tau: 1, N: 1, Groups: 1, Known: true}}
	if got := correlationText(table); len(got) > 0 {
		t.Errorf("one pair: %q", got)
	}
	table.Order = analysis.Correlation{Tau: -0.8, N: 10, Groups: 2, Known: true}
	if got := strings.Join(correlationText(table), ""); !strings.Contains(got, "opposite") || !strings.Contains(got, "−0.80") {
		t.Errorf("a negative correlation: %q", got)
	}
}
