package record

import (
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the version of the run file that this package writes.
// Readers accept every version up to their own.
const SchemaVersion = 1

// Line types of a run file.
const (
	TypeRun    = "run"    // first line: what was to be measured, and where
	TypeTrial  = "trial"  // one finished trial, whatever its status
	TypeResume = "resume" // a later process resumed this run
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
	Cells         []Cell    `json:"cells"` // all planned cells, including native ones

	Source    string            `json:"source,omitempty"`      // name of the source of published figures that the suite repeats
	Skips     []Skip            `json:"skips,omitempty"`       // networks that the suite deliberately leaves out
	Tools     map[string]string `json:"tools,omitempty"`       // versions of the tools of the cells
	Conflists map[string]string `json:"conflists,omitempty"`   // SHA-256 of the user's CNI conflists, by the network of each
	Instance  string            `json:"instance,omitempty"`    // name of the machine's instance type, if it is rented
	Price     float64           `json:"price_usd_h,omitempty"` // of the machine, dollars per hour
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
	MinRounds  int     `json:"min_rounds" most:"1e6"`    // at least; more if the number of comparisons needs more, see LeastRounds
	MaxRounds  int     `json:"max_rounds" most:"1e6"`    // at most
	Budget     float64 `json:"time_budget_s" most:"1e9"` // no round begins that would end after this; 0 means no limit
	Seed       uint64  `json:"seed" most:"inf"`          // of the order of trials
	SelfCheck  bool    `json:"self_check,omitempty"`
	// Turns: networks that are compared stand at once and take turns of about a tenth of a second,
	// where traffic can rest between them. Duration is then the total of the slices of a trial.
	Turns bool `json:"turns,omitempty"`
	// Together is how many networks may stand at once in addition to their baseline; 0 is as many as there is room for.
	Together int `json:"together,omitempty" most:"1e6"`
	// Congestion is the TCP congestion control of flows without an explicit one;
	// empty means the machine's default, which tools without a choice always use.
	Congestion string `json:"congestion,omitempty"`
	// EqualWithin is the difference that counts as none, as a share of the baseline (0.05
	// = 5 %). 0 means DefaultEqualWithin: run files older than this setting have none.
	EqualWithin float64 `json:"equal_within,omitempty" most:"1"`
	// Venue says whose engines and clusters measure the run; nil if it needs none. Run files older than this field have none
	// either, whatever they needed.
	Venue *Venue `json:"venue,omitempty"`
}

// Venue has what was chosen of engines and clusters and must stay the same if trials are to be comparable, by the names of
// flags. Whatever is false was not given.
type Venue struct {
	PrivateEngine  bool   `json:"private_engine,omitempty"`
	PrivateCluster bool   `json:"private_cluster,omitempty"`
	NodeAgent      bool   `json:"node_agent,omitempty"` // or node_daemons or node_privileged, which imply it
	Expect         string `json:"expect,omitempty"`
	PodCPUs        int    `json:"pod_cpus,omitempty" most:"1e6"`
	// Engines are the user's engines, in order, as they were named (--docker-host), or the address of the docker command's. Run
	// files have none if they are older than this field, or, if no engine was named, older than such addresses.
	Engines []string `json:"engines,omitempty"`
}

// DefaultRate is how many transactions of paced_rr begin in a second on each connection unless a cell says otherwise: so few that the
// latency is that of an idle network.
const DefaultRate = 1000

// DefaultEqualWithin is the difference from the baseline that counts as none unless a run sets another.
const DefaultEqualWithin = 0.05

// Emulated marks a machine whose CPUs are emulated in software: it shows
// whether a network works, and nothing about its speed.
const Emulated = "emulated"

// Machine describes where the run took place.
type Machine struct {
	OS       string `json:"os"`     // pretty name of the distribution
	Kernel   string `json:"kernel"` // release
	Arch     string `json:"arch"`
	CPUModel string `json:"cpu_model"`
	CPUs     []CPU  `json:"cpus"` // the CPUs that nettoll may use
	MemoryB  uint64 `json:"memory_bytes"`
	Virtual  string `json:"virtual,omitempty"` // "yes" under a hypervisor, or Emulated
	Root     bool   `json:"root"`              // false: inside a user namespace
	Power    *Power `json:"power,omitempty"`   // nil: not known, as where a hypervisor alone decides
}

// Power says what chooses the clock frequency of CPUs, and what idle ones do, in the words of the kernel
// (Documentation/admin-guide/pm: cpufreq.rst, intel_pstate.rst, amd-pstate.rst and cpuidle.rst). What is empty is not known.
type Power struct {
	FrequencyDriver string   `json:"frequency_driver,omitempty"` // such as intel_pstate, amd-pstate-epp, acpi-cpufreq
	Governors       []string `json:"governors,omitempty"`        // that choose the frequency of the CPUs that nettoll may use, each once
	Boost           *bool    `json:"boost,omitempty"`            // CPUs may run faster than their base frequency
	IdleDriver      string   `json:"idle_driver,omitempty"`      // such as intel_idle, acpi_idle, haltpoll
	IdleGovernor    string   `json:"idle_governor,omitempty"`    // that chooses how deeply an idle CPU sleeps, such as menu
}

// Frequency returns what chooses the clock frequency, as text, such as "intel_pstate powersave, boost on"; "" if it is not known.
func (p *Power) Frequency() string {
	if p == nil || len(p.Governors) == 0 {
		return ""
	}
	text := strings.TrimSpace(p.FrequencyDriver + " " + strings.Join(p.Governors, "/"))
	if p.Boost != nil {
		text += ", boost " + map[bool]string{true: "on", false: "off"}[*p.Boost]
	}
	return text
}

// Idle returns what idle CPUs do, as text, such as "intel_idle menu"; "" if it is not known.
func (p *Power) Idle() string {
	if p == nil {
		return ""
	}
	if p.IdleGovernor == p.IdleDriver { // as in guests: haltpoll
		return p.IdleDriver
	}
	return strings.TrimSpace(p.IdleDriver + " " + p.IdleGovernor)
}

// FollowsLoad reports whether busy CPUs have a higher clock frequency than others. The governor powersave of drivers that choose
// by themselves does that; that of all others keeps to the lowest frequency.
func (p *Power) FollowsLoad() bool {
	if p == nil {
		return false
	}
	return slices.ContainsFunc(p.Governors, func(governor string) bool {
		switch governor {
		case "schedutil", "ondemand", "conservative":
			return true
		case "powersave":
			return p.FrequencyDriver == "intel_pstate" || p.FrequencyDriver == "amd-pstate-epp"
		}
		return false
	})
}

// CPU is one processor and its location.
type CPU struct {
	ID      int `json:"id"`
	Package int `json:"package" least:"-1"`
	Core    int `json:"core" least:"-1"`
	// Slow is set for CPUs of a kind that is built for low power, on a machine that also has faster ones.
	Slow bool `json:"slow,omitempty"`
}

// Resume records that another process resumed the run.
type Resume struct {
	Type     string    `json:"type"`
	Started  time.Time `json:"started"`
	Version  string    `json:"version"`
	Settings *Settings `json:"settings,omitempty"` // in force from here on; nil in files older than this field
}

// Reasons why a process stops taking trials.
const (
	EndPrecision   = "precision"   // every cell is known as well as requested
	EndMaxRounds   = "max-rounds"  // the limit of rounds was reached
	EndBudget      = "time-budget" // the time was used up
	EndInterrupted = "interrupted" // the user stopped it
	EndFailed      = "failed"      // nothing more could be measured
)

// End is the last line of a process that ends in an orderly way.
type End struct {
	Type      string    `json:"type"`
	Finished  time.Time `json:"finished"`
	Reason    string    `json:"reason"`
	Detail    string    `json:"detail,omitempty"`
	Rounds    int       `json:"rounds" most:"1e6"`      // complete rounds in the file
	Measuring float64   `json:"measuring_s" most:"1e9"` // seconds of warm-ups, windows, turns with all that belongs to them, and watching the idle machine
	Elapsed   float64   `json:"elapsed_s" most:"1e9"`   // seconds since this process began to work on the run, including watching the idle machine
	Idle      float64   `json:"idle_cpu_s_s"`           // CPU seconds per second used by the idle machine
	// Frequency says what chose the clock frequency of the CPUs when the process ended, if that was not the same when the run
	// began; see Power.Frequency.
	Frequency string `json:"frequency,omitempty"`
	// Stood describes what was not rebuilt in every round. Everything else was.
	Stood []string `json:"stood,omitempty"`
}
