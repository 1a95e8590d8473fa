// Package record defines the result of a run: the run file, with one NDJSON
// line for the run, one for every finished trial and one for every ending.
// The run file is the only source of truth; summaries and reports are computed
// from it. docs/format.md describes the file for readers in other languages.
//
// The package contains no statistics and no measuring.
package record
