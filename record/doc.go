// Package record defines the result of a run: the run file, with one NDJSON
// line for the run, one for every finished trial, and one for each time that a
// process resumes the run or ends. Summaries and reports are computed from the
// run file alone. docs/format.md describes it for readers in other languages.
//
// The package contains no statistics and no measuring.
package record
