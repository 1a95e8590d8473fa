package record

import "time"

// SchemaVersion is the version of the run file that this package writes.
// Readers accept every version up to their own.
const SchemaVersion = 1

// Line types of a run file.
const (
	TypeRun    = "run"    // first line: what was to be measured, and where
	TypeTrial  = "trial"  // one finished trial, whatever came of it
	TypeResume = "resume" // a later process went on with this run
	TypeEnd    = "end"    // a process ended in an orderly way
)

// Run is the first line of a run file.
type Run struct {
	Type          string    `json:"type"`
	SchemaVersion int       `json:"schema_version"`
	ID            string    `json:"id"`      // random, hexadecimal
	Started       time.Time `json:"started"` // wall clock, UTC
	Version       string    `json:"version"` // of nettoll
	Note          string    `json:"note,omitempty"`
	Suite         string    `json:"suite"`
	Machine       Machine   `json:"machine"`
	Settings      Settings  `json:"settings"`
	Cells         []Cell    `json:"cells"` // everything planned, natives included

	Source   string            `json:"source,omitempty"`      // whose published figures the suite repeats, by name
	Skips    []Skip            `json:"skips,omitempty"`       // what the suite leaves out on purpose
	Tools    map[string]string `json:"tools,omitempty"`       // versions of the tools that are here
	Instance string            `json:"instance,omitempty"`    // what the machine is called where it is rented
	Price    float64           `json:"price_usd_h,omitempty"` // of the machine, dollars an hour
}

// Skip is a network that a suite leaves out, and why.
type Skip struct {
	Network string `json:"network"`
	Reason  string `json:"reason"`
}

// Settings are the limits of a run. Durations are in seconds.
type Settings struct {
	Duration   float64 `json:"duration_s" most:"1e9"`    // measured window of one trial
	Warmup     float64 `json:"warmup_s" most:"1e9"`      // before the window, not counted
	Precision  float64 `json:"precision" most:"1"`       // wanted half width of the interval, relative (0.05 = 5 %)
	Confidence float64 `json:"confidence" most:"1"`      // level of every interval and test (0.95)
	MinRounds  int     `json:"min_rounds" most:"1e6"`    // at least; more where the comparisons need more, see LeastRounds
	MaxRounds  int     `json:"max_rounds" most:"1e6"`    // at most
	Budget     float64 `json:"time_budget_s" most:"1e9"` // no new round begins after this; 0 is none
	Seed       uint64  `json:"seed" most:"any"`          // of the order of trials
	SelfCheck  bool    `json:"self_check,omitempty"`
	// Turns: networks that are compared stand at once and take turns of some hundredths of a second, where
	// traffic can rest between them. Duration is what the turns of a trial measure together.
	Turns bool `json:"turns,omitempty"`
	// Congestion is the TCP congestion control of flows for which none is named; empty is the
	// machine's own, as it is for tools that cannot choose.
	Congestion string `json:"congestion,omitempty"`
	// EqualWithin is the difference that counts as none, as a share of the baseline (0.05 = 5 %).
	// 0 is DefaultEqualWithin: run files that were written before it was a setting have none.
	EqualWithin float64 `json:"equal_within,omitempty" most:"1"`
}

// DefaultEqualWithin is the difference from the baseline that counts as none unless a run says otherwise.
const DefaultEqualWithin = 0.05

// Emulated is a machine whose CPUs are a program: it shows whether a network works, and
// nothing of how fast it is.
const Emulated = "emulated"

// Machine is what the run ran on.
type Machine struct {
	OS       string   `json:"os"`     // pretty name of the distribution
	Kernel   string   `json:"kernel"` // release
	Arch     string   `json:"arch"`
	CPUModel string   `json:"cpu_model"`
	CPUs     []CPU    `json:"cpus"` // those that nettoll may use
	MemoryB  uint64   `json:"memory_bytes"`
	Virtual  string   `json:"virtual,omitempty"` // "yes" under a hypervisor, or Emulated
	Root     bool     `json:"root"`              // false: inside a user namespace
	Features []string `json:"features,omitempty"`
}

// CPU is one processor and its place.
type CPU struct {
	ID      int `json:"id"`
	Package int `json:"package" least:"-1"`
	Core    int `json:"core" least:"-1"`
}

// Resume says that another process continued the run.
type Resume struct {
	Type     string    `json:"type"`
	Started  time.Time `json:"started"`
	Version  string    `json:"version"`
	Settings *Settings `json:"settings,omitempty"` // in force from here on; nil in files of before they were kept
}

// Reasons for which a process stops taking trials.
const (
	EndPrecision   = "precision"   // every cell is known as well as was asked
	EndMaxRounds   = "max-rounds"  // the limit of rounds was reached
	EndBudget      = "time-budget" // the time was used up
	EndInterrupted = "interrupted" // the user stopped it
	EndFailed      = "failed"      // nothing more could be measured
)

// End is the last line that an orderly process writes.
type End struct {
	Type      string    `json:"type"`
	Finished  time.Time `json:"finished"`
	Reason    string    `json:"reason"`
	Detail    string    `json:"detail,omitempty"`
	Rounds    int       `json:"rounds" most:"1e6"`      // complete rounds in the file
	Measuring float64   `json:"measuring_s" most:"1e9"` // seconds of warm-ups, windows and watching the idle machine
	Elapsed   float64   `json:"elapsed_s" most:"1e9"`   // seconds since this process began to work on the run, watching the idle machine included
	Idle      float64   `json:"idle_cpu_s_s"`           // CPU seconds a second that the idle machine used
	// Stood is what was not built anew in every round, in words. All else was.
	Stood []string `json:"stood,omitempty"`
}
