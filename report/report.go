// Package report writes what an analysis found: for a terminal, as one HTML
// file, and in formats that other programs read.
//
// Everything that is printed comes from the analysis.Result and its trials. Reports for people are
// a document first, which text, Markdown and the page write each in its own way.
package report

import (
	"io"
	"slices"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// Options say how to write; they do not change what a report says.
type Options struct {
	// Width is how many columns there are; 0 is as many as needed.
	Width int
	// Color allows escape codes for colour.
	Color bool
	// File is the name of the run file, for the heading of a page; empty where there is none.
	File string
	// Trials are the raw trials, for the formats that list them.
	Trials []record.Trial
}

// Format is one way to write a result.
type Format struct {
	Name  string
	Ends  []string // of the names of its files, without their dots, the usual one first
	About string
	Write func(w io.Writer, res analysis.Result, o Options) error
}

// Formats lists every format, the default first.
func Formats() []Format {
	return []Format{
		{"text", []string{"txt", "text", "log"}, "tables and sentences for a terminal", ofDocument(writeText)},
		{"html", []string{"html", "htm"}, "one self-contained page with charts, paths and every trial", ofDocument(writeHTML)},
		{"md", []string{"md", "markdown"}, "GitHub Markdown", ofDocument(writeMarkdown)},
		{"csv", []string{"csv"}, "one line for every network and metric", writeCSV},
		{"json", []string{"json"}, "everything, in base units", writeJSON},
		{"openmetrics", []string{"om", "prom", "openmetrics"}, "estimates, intervals and ratios for Prometheus", writeOpenMetrics},
		{"bench", []string{"bench"}, "Go benchmark format, for benchstat", writeBench},
	}
}

// ofDocument makes a format of a writer of documents.
func ofDocument(write func(io.Writer, document, Options) error) func(io.Writer, analysis.Result, Options) error {
	return func(w io.Writer, res analysis.Result, o Options) error { return write(w, newDocument(res), o) }
}

// ByEnd finds the format of files whose names end so, such as ".html".
func ByEnd(end string) (Format, bool) {
	for _, f := range Formats() {
		if slices.Contains(f.Ends, strings.ToLower(strings.TrimPrefix(end, "."))) {
			return f, true
		}
	}
	return Format{}, false
}

// ByName finds a format.
func ByName(name string) (Format, bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}
