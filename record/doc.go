// Package record defines what a run leaves behind: the run file, one NDJSON
// line for the run, one for every finished trial and one for every ending.
// The run file is the only truth; summaries and reports are computed from it.
// docs/format.md describes the file for readers in other languages.
//
// The package knows neither statistics nor how anything is measured.
package record
