package report

import (
	"fmt"
	"slices"

	"nettoll/analysis"
)

// document is a report for people before it has a format: what text, Markdown and the page have in common.
// Charts are drawn only when a writer asks for them.
type document struct {
	res      analysis.Result
	Heading  string
	Grade    string
	Groups   []*section // of scenarios that no sweep shows
	Sections []*section // about more than one scenario
	Findings []noteGroup
	notes    *notes
}

// section is a part of a report.
type section struct {
	ID, Title, Meta string
	Summary         []saying
	Tables          []table
	Missing         []absence
	Remarks         []string
	Word            string // for what its networks are compared with
	inner           bool   // part of another section, which has its table

	figures func() []figure // its charts; nil is none
	group   *group          // of its networks, where it is about scenarios
}

// saying is a sentence about something.
type saying struct {
	Subject, Text string
	Shown         []string // the figures that show it
}

func newDocument(res analysis.Result) document {
	d := document{res: res, Heading: heading(res), Grade: grade(res), notes: newNotes(res)}
	looks := newLooks(res)
	for i, g := range titled(apart(res)) {
		s := g.section(d.notes, looks)
		s.ID = fmt.Sprintf("g%d", i+1)
		d.Groups = append(d.Groups, s)
	}
	d.Sections = append(d.Sections, replicationSections(res)...)
	d.Sections = append(d.Sections, sweepSections(res, looks, d.notes)...)
	d.Sections = append(d.Sections, priceSections(res, looks)...)
	d.Sections = append(d.Sections, agreementSections(res, d.notes)...)
	d.Sections = append(d.Sections, settlingSections(res)...)
	for i, s := range d.Sections {
		s.ID, s.Word = fmt.Sprintf("s%d", i+1), "the baseline"
	}
	d.Findings = d.notes.groups(res)
	return d
}

// nothing is what an empty report says.
const nothing = "Nothing was measured."

func (d document) empty() bool { return len(d.Groups)+len(d.Sections) == 0 }

// withoutInner are all sections except those that only add charts to another one.
func (d document) withoutInner() []*section {
	all := slices.Clone(d.Groups)
	for _, s := range d.Sections {
		if !s.inner {
			all = append(all, s)
		}
	}
	return all
}
