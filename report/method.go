package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"nettoll/analysis"
	"nettoll/record"
)

// machine says in one line what the run ran on.
func machine(m record.Machine) string {
	var parts []string
	if m.OS != "" {
		parts = append(parts, m.OS)
	}
	if m.Kernel != "" {
		parts = append(parts, strings.TrimSpace("kernel "+m.Kernel+" "+m.Arch))
	}
	if len(m.CPUs) > 0 {
		parts = append(parts, strings.TrimSpace(strconv.Itoa(len(m.CPUs))+" CPUs "+m.CPUModel))
	}
	if m.MemoryB > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GiB", float64(m.MemoryB)/(1<<30)))
	}
	if m.Virtual != "" {
		parts = append(parts, "virtual ("+m.Virtual+")")
	}
	if !m.Root && m.OS != "" {
		parts = append(parts, "not root")
	}
	if len(parts) == 0 {
		return "a machine that the run file does not describe"
	}
	return strings.Join(parts, ", ")
}

// ranOn is the machine, and what the platforms of its networks say of themselves.
func ranOn(res analysis.Result) string {
	parts := []string{machine(res.Run.Machine)}
	for _, s := range res.Scenarios {
		for _, r := range s.Rows {
			for _, e := range r.Endpoints {
				if e.Platform != "" && !slices.Contains(parts, e.Platform) {
					parts = append(parts, e.Platform)
				}
			}
		}
	}
	return strings.Join(parts, "; ")
}

// rounds says how much was measured.
func rounds(res analysis.Result, o Options) string {
	s := res.Run.Settings
	text := countOf(res.Rounds, "complete round")
	if s.Duration > 0 {
		text += fmt.Sprintf(", %s s for each trial", short(s.Duration))
		if s.Warmup > 0 {
			text += fmt.Sprintf(" after %s s of warm-up", short(s.Warmup))
		}
	}
	if o.Ended != nil && o.Ended.Elapsed > 0 {
		text += ", " + seconds(o.Ended.Elapsed) + " in all"
	}
	return capital(text) + "."
}

// ending says why no more was measured.
func ending(res analysis.Result) string {
	s := res.Run.Settings
	var text string
	switch res.End {
	case record.EndPrecision:
		text = "Ended because every interval is as narrow as was asked"
		if s.Precision > 0 {
			text += " (±" + strconv.FormatFloat(s.Precision*100, 'g', 3, 64) + "%)"
		}
	case record.EndMaxRounds:
		text = "Ended at the limit of rounds"
		if s.MaxRounds > 0 {
			text += fmt.Sprintf(" (%d)", s.MaxRounds)
		}
		text += "; not every interval is as narrow as was asked"
	case record.EndBudget:
		text = "Ended because the time was used up; not every interval is as narrow as was asked"
	case record.EndInterrupted:
		text = "Ended by the user"
	case record.EndFailed:
		text = "Ended because nothing more could be measured"
	case "":
		text = "Did not end in an orderly way; what was measured until then is shown"
	default:
		text = "Ended: " + res.End
	}
	if res.EndDetail != "" {
		text += ": " + strings.TrimRight(res.EndDetail, ".")
	}
	return text + "."
}

// confidence says what the intervals mean and how often chance alone misleads.
func confidence(res analysis.Result) string {
	level := res.Run.Settings.Confidence
	if level <= 0 || level >= 1 {
		return ""
	}
	oneIn := strconv.FormatFloat(math.Round(1/(1-level)), 'f', 0, 64)
	return "Intervals (±) and differences hold at " + strconv.FormatFloat(level*100, 'g', 4, 64) +
		"% confidence: 1 in " + oneIn + " identical networks would show a difference by chance. ~ means that none was found."
}

func wasRun(res analysis.Result) string {
	var parts []string
	if res.Run.Suite != "" {
		parts = append(parts, "suite "+res.Run.Suite)
	}
	if !res.Run.Started.IsZero() {
		parts = append(parts, res.Run.Started.UTC().Format("2006-01-02 15:04")+" UTC")
	}
	if res.Run.Version != "" {
		parts = append(parts, "nettoll "+res.Run.Version)
	}
	if res.Run.ID != "" {
		parts = append(parts, "run "+res.Run.ID)
	}
	return strings.Join(parts, ", ")
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
