// Package report writes the results of an analysis: for a terminal, as one HTML file, and in
// formats that other programs read.
//
// All output comes from the analysis.Result and its trials. Reports for people are built as
// a document first, which text, Markdown and HTML each write in their own way.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// Options control how a report is written, not its content.
type Options struct {
	// Width is the number of columns; 0 means unlimited.
	Width int
	// Color allows escape codes for colour.
	Color bool
	// File is the name of the run file, for the heading of a page; empty if there is none.
	File string
	// Trials are the raw trials, for the formats that list them.
	Trials []record.Trial
}

// Format is one way to write a result.
type Format struct {
	Name  string
	Ends  []string // file extensions, without dots, the usual one first
	Write func(w io.Writer, res analysis.Result, o Options) error
	// Published says that it has the figures of the published source that the run repeats.
	Published bool
}

// Formats lists every format, the default first.
func Formats() []Format {
	return []Format{
		{"text", []string{"txt", "text", "log"}, ofDocument(writeText), true},
		{"html", []string{"html", "htm"}, ofDocument(writeHTML), true},
		{"md", []string{"md", "markdown"}, ofDocument(writeMarkdown), true},
		{"csv", []string{"csv"}, writeCSV, false},
		{"json", []string{"json"}, writeJSON, true},
		{"openmetrics", []string{"om", "prom", "openmetrics"}, writeOpenMetrics, false},
		{"bench", []string{"bench"}, writeBench, false},
	}
}

// ofDocument makes a format's Write from a writer of documents.
func ofDocument(write func(io.Writer, document, Options) error) func(io.Writer, analysis.Result, Options) error {
	return func(w io.Writer, res analysis.Result, o Options) error { return write(w, newDocument(res), o) }
}

// ByEnd finds the format with the given file extension, for example ".html".
func ByEnd(end string) (Format, bool) {
	return record.First(Formats(), func(f Format) bool {
		return slices.Contains(f.Ends, strings.ToLower(strings.TrimPrefix(end, ".")))
	})
}

// ByName finds a format.
func ByName(name string) (Format, bool) {
	return record.First(Formats(), func(f Format) bool { return f.Name == name })
}

// document is a report for people before it has a format: the common part of text, Markdown
// and HTML. Charts are drawn only when a writer requests them.
type document struct {
	res      analysis.Result
	Heading  string
	Grade    string
	Groups   []*section // of scenarios that no sweep contains
	Sections []*section // about more than one scenario
	Findings []noteGroup
	notes    *notes
}

// section is a part of a report.
type section struct {
	ID, Title, Meta string
	Summary         []statement
	Tables          []table
	Missing         []absence
	Remarks         []string
	Word            string // name of what its networks are compared with
	inner           bool   // part of another section, which has its table

	figures func() []figure // its charts; nil means none
	group   *group          // of its networks, if it is about scenarios
}

// statement is a sentence about something.
type statement struct {
	Subject, Text string
	Shown         []string // the figures behind it
}

func newDocument(res analysis.Result) document {
	d := document{res: res, Heading: heading(res), Grade: grade(res), notes: newNotes(res)}
	colours := newColours(res)
	for i, g := range titled(apart(res)) {
		s := g.section(d.notes, colours)
		s.ID = fmt.Sprintf("g%d", i+1)
		d.Groups = append(d.Groups, s)
	}
	d.Sections = slices.Concat(
		replicationSections(res), sweepSections(res, colours, d.notes), priceSections(res, colours), agreementSections(res, d.notes),
		inForceSections(res), settlingSections(res), nodeUseSections(res),
	)
	for i, s := range d.Sections {
		s.ID, s.Word = fmt.Sprintf("s%d", i+1), "the baseline"
	}
	d.Findings = d.notes.groups(res)
	return d
}

// nothing is the text of an empty report.
const nothing = "Nothing was measured."

func (d document) empty() bool { return len(d.Groups)+len(d.Sections) == 0 }

// withoutInner returns all sections except those that only add charts to another one.
func (d document) withoutInner() []*section {
	return slices.Concat(d.Groups, record.Those(d.Sections, func(s *section) bool { return !s.inner }))
}
