package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agnivade/levenshtein"

	"nettoll/record"
)

// Limits of a suite.
const (
	MaxHosts = 15 // whose containers have addresses
	// MaxServers is how many servers can have a block of ports.
	MaxServers = allPorts / record.PortBlock
	// MaxEndpoints is how many endpoints of one host have an address: the 4096 addresses of its IPv4 subnet, except
	// the network's, the gateway's, the broadcast address and one that stays free.
	MaxEndpoints = record.MaxContainers / 2
	// MaxProcesses is how many client processes one container can have, which the ports of the servers limit.
	MaxProcesses = (MaxServers*record.PortBlock - 1) / 2
	// MostRounds is how many rounds a run can have.
	MostRounds = 10_000
	// MostBudget is the longest time budget.
	MostBudget = maxTime

	allPorts  = record.LastPort - record.FirstPort + 1
	minWindow = 10 * time.Millisecond // the step of the kernel's clock of CPU time
	maxTime   = 24 * time.Hour
	maxWindow = time.Hour // what the engine can measure, and the longest latency of its histograms
	maxPrice  = 1e6       // dollars per hour
)

// limits are the ranges of numbers and lists of numbers, by key, with the text of the error for one out of range.
var limits = []struct {
	key         string
	least, most int
	what        string
}{
	{"hosts", 1, MaxHosts, "hosts are not possible"},
	{"servers", 1, MaxServers, "servers are not possible"},
	{"clients", 1, MaxEndpoints, "clients are not possible"},
	{"processes", 1, MaxProcesses, "processes are not possible"},
	{"together", 0, mostTogether, "networks at once are not possible"},
	{"min_rounds", 1, MostRounds, "rounds are not possible"},
	{"max_rounds", 1, MostRounds, "rounds are not possible"},
}

// Validate finds the first value that makes no sense, alone or together with another. The error is a *FieldError.
// Unknown names are found by Expand.
func (s Suite) Validate() error {
	return s.firstFault(
		Suite.checkText, Suite.checkNetworks, Suite.checkWorkloads, Suite.checkNumbers, Suite.checkPlaces, Suite.checkCounts, Suite.checkConditions,
		Suite.checkTimes, Suite.checkRounds, Suite.checkMachine, Suite.checkPublished,
	)
}

// firstFault returns the first fault that one of the checks finds.
func (s Suite) firstFault(checks ...func(Suite) error) error {
	return record.Try(checks, func(check func(Suite) error) error { return check(s) })
}

func (s Suite) checkText() error {
	for _, f := range []struct{ name, text string }{{"name", s.Name}, {"about", s.About}, {"source", s.Source}, {"instance", s.Instance}} {
		if strings.ContainsFunc(strings.TrimSuffix(f.text, "\n"), unicode.IsControl) {
			return s.fault(f.name, "must be one line; leave out line breaks and control characters")
		}
	}
	return nil
}

func (s Suite) checkNetworks() error {
	if len(s.Networks) == 0 {
		return s.fault("networks", "nothing is to be measured; name networks, such as bridge, or all")
	}
	for i, n := range s.Networks {
		if !isNetwork(n) {
			return s.fault(fmt.Sprintf("networks[%d]", i), "%q is not a network; %s", n, networkMeant(n))
		}
	}
	if s.Platform != "" && !isName(s.Platform) {
		return s.fault("platform", "%q is not a platform; write a name such as lab", s.Platform)
	}
	if b := s.Baseline; b != "" && (!isNetwork(b) || b == allNetworks || strings.HasSuffix(b, ":"+allNetworks)) {
		return s.fault("baseline", "%q is not one network; write a network such as veth, or platform:name", b)
	}
	return nil
}

// networkMeant suggests how to write the network that the text probably means.
func networkMeant(text string) string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
	switch lower := strings.ToLower(text); {
	case len(parts) > 1 && !slices.ContainsFunc(parts, func(p string) bool { return !isNetwork(p) }):
		return "name each for itself: " + strings.Join(parts, " ")
	case isNetwork(lower):
		return "names are in lower case: " + lower
	}
	return "write a network such as bridge, or platform:name"
}

// isNetwork reports whether the text could name a network, or all networks of a platform.
func isNetwork(text string) bool {
	platform, name, both := strings.Cut(text, ":")
	return isName(platform) && (!both || isName(name))
}

// isName reports whether the text could name a driver.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

func (s Suite) checkNumbers() error {
	for _, l := range limits {
		numbers, list := s.field(l.key).Interface().([]int)
		if !list {
			numbers = []int{s.field(l.key).Interface().(int)}
		}
		for i, n := range numbers {
			if n < l.least || n > l.most {
				return s.fault(s.item(l.key, i, len(numbers)), "%d %s; write a number from %d to %d", n, l.what, l.least, l.most)
			}
		}
	}
	return nil
}

func (s Suite) checkPlaces() error {
	if len(s.Families) == 0 {
		return s.fault("families", "no IP version is given; write 4, 6 or both")
	}
	for i, f := range s.Families {
		if f != 4 && f != 6 {
			return s.fault(fmt.Sprintf("families[%d]", i), "%d is not an IP version; write 4 or 6", f)
		}
	}
	if len(s.Placements) == 0 {
		return s.fault("placements", "no placement is given; write same, distinct or free")
	}
	placement, _ := record.DimensionOf("placement")
	for i, p := range s.Placements {
		if !slices.Contains(placement.Values, p) {
			return s.fault(fmt.Sprintf("placements[%d]", i), "unknown placement %q; %s", p, mean(p, placement.Values, "write same, distinct or free"))
		}
	}
	return nil
}

func (s Suite) checkTimes() error {
	for _, f := range []struct {
		name  string
		value time.Duration
		least time.Duration
		most  time.Duration
	}{{"duration", s.Duration, minWindow, maxWindow}, {"warmup", s.Warmup, 0, maxWindow}, {"time_budget", s.TimeBudget, 0, maxTime}} {
		switch {
		case f.value <= 0 && f.least > 0:
			return s.fault(f.name, "must be above zero, is %s; write a length of time such as 300ms", f.value)
		case f.value < 0:
			return s.fault(f.name, "must not be negative, is %s; write 0s for none", f.value)
		case f.value < f.least:
			return s.fault(f.name, "%s is too short to measure CPU time; write at least %s", f.value, f.least)
		case f.value > f.most:
			return s.fault(f.name, "%s is too long; write at most %s", f.value, f.most)
		}
	}
	trial := s.Duration
	if !s.Turns { // these have a warm-up of their own
		trial += s.Warmup
	}
	if s.TimeBudget > 0 && s.TimeBudget < trial {
		return s.fault("time_budget", "%s is less than one trial of %s takes; write more, or 0s for no limit", s.TimeBudget, trial)
	}
	if s.Together > 0 && !s.Turns {
		return s.fault("together", "networks stand at once only to take turns, and whole trials were asked for (turns: false); leave one of the two out")
	}
	return nil
}

func (s Suite) checkRounds() error {
	if s.MinRounds > s.MaxRounds {
		return s.faultOfEither("min_rounds", "max_rounds",
			"at least %d and at most %d rounds contradict each other; lower min_rounds or raise max_rounds", s.MinRounds, s.MaxRounds)
	}
	if !(s.Precision > 0 && s.Precision <= 1) {
		return s.fault("precision", "%s is not possible; %swrite a share above 0%% and up to 100%%, such as 5%%", s.Precision, s.Precision.meant(0, 1))
	}
	if !(s.Confidence >= 0.5 && s.Confidence < 1) {
		return s.fault("confidence", "%s is not possible; %swrite a share from 50%% to below 100%%, such as 95%%", s.Confidence, s.Confidence.meant(0.5, 1))
	}
	if err := CheckEqualWithin(s.EqualWithin); err != nil {
		return s.fault("equal_within", "%v", err)
	}
	return nil
}

// CheckEqualWithin refuses a difference that cannot count as none.
func CheckEqualWithin(r Ratio) error {
	if r > 0 && r < 1 {
		return nil
	}
	return fmt.Errorf("%s is not possible; %swrite a share above 0%% and below 100%%, such as 5%%", r, r.meant(0, 1))
}

func (s Suite) checkMachine() error {
	switch {
	case !(s.Price >= 0 && s.Price <= maxPrice):
		return s.fault("price", "%v is not possible; write dollars an hour, such as 0.139", s.Price)
	case s.Price > 0 && s.Instance == "":
		return s.fault("price", "needs the type of the machine that costs it; name the instance, such as m4.large")
	}
	return nil
}

// FieldError is a fault of a suite. Its text is one line.
type FieldError struct {
	At    string // "file:line:column"; empty if the suite was not read from a file
	Field string // such as "min_rounds" or "workloads[1].window"; empty for a fault of the text itself
	Text  string // what is wrong; what would fix it
}

func (e *FieldError) Error() string {
	return strings.Join(record.Those([]string{e.At, e.Field, e.Text}, func(p string) bool { return p != "" }), ": ")
}

// Flag returns the flag that corresponds to the field, such as "--min-rounds" or "--window". It is empty if Field
// is.
func (e *FieldError) Flag() string {
	name := e.Field
	if _, option, ok := strings.Cut(name, "]."); ok && option != "name" {
		name = option
	}
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, ".")
	if name == "" {
		return ""
	}
	return "--" + strings.ReplaceAll(name, "_", "-")
}

// written reports whether a suite file gave the field a value.
func (s Suite) written(field string) bool {
	_, ok := s.at[field]
	return ok
}

// fault returns an error about a field, at the place where the field was written.
func (s Suite) fault(field, format string, args ...any) error {
	e := &FieldError{At: s.at[field], Field: field, Text: fmt.Sprintf(format, args...)}
	if base, _, ok := strings.Cut(field, "["); ok && e.At == "" {
		e.At = s.at[base]
	}
	if e.At == "" && s.file != "" {
		e.At = s.file + ":1:1"
	}
	return e
}

// item names the place of a value: the field, or its index if it was written in a list.
func (s Suite) item(field string, i, length int) string {
	if at := fmt.Sprintf("%s[%d]", field, i); length > 1 || s.written(at) {
		return at
	}
	return field
}

// faultOfEither is a fault of two fields that contradict each other. It is reported at the first, unless only the
// second was written.
func (s Suite) faultOfEither(first, second, format string, args ...any) error {
	if !s.written(first) && s.written(second) {
		first = second
	}
	return s.fault(first, format, args...)
}

// unknown is the fault of a field that names something unknown. The kind is in the singular; nettoll list takes its
// plural.
func (s Suite) unknown(field, kind, name string, known []string) error {
	where := "nettoll list " + kind + "s"
	return s.fault(field, "unknown %s %q; %s", kind, name, listed(name, known, where))
}

// listed suggests the names that begin with the given one and a hyphen, or else the nearest name, and says which
// command shows all.
func listed(name string, known []string, where string) string {
	meant := mean(name, known, "")
	if all := Variants(name, known); len(all) > 0 {
		meant = fmt.Sprintf("did you mean %s?", anyOf(all))
	}
	return strings.TrimPrefix(meant+" "+where+" shows all", " ")
}

// Nearest returns the known name that was probably meant. It returns none if more than a third of the letters would
// have to change, unless it is the only one that begins with the given one; swapping two neighbouring letters is one change. Of
// equally near names it returns the first.
func Nearest(name string, known []string) (string, bool) {
	const longest = 64 // in bytes; a longer text is not a mistyped name
	if name == "" || len(name) > longest {
		return "", false
	}
	best, found := "", 0
	for _, k := range known {
		if k == "" || len(k) > longest {
			continue
		}
		d := levenshtein.ComputeDistance(name, k)
		if swapped(name, k) {
			d = 1
		}
		limit := max(1, max(len(name), len(k))/3)
		if d <= limit && d < len(name) && (best == "" || d < found) {
			best, found = k, d
		}
	}
	if begun := record.Those(known, func(k string) bool { return strings.HasPrefix(k, name) }); best == "" && len(begun) == 1 {
		best = begun[0]
	}
	return best, best != ""
}

// swapped reports whether two names differ only by two neighbouring letters in swapped order.
func swapped(a, b string) bool {
	if len(a) != len(b) || a == b {
		return false
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// Variants returns the known names that consist of the given name, a hyphen and more.
func Variants(name string, known []string) []string {
	return record.Those(known, func(k string) bool { return name != "" && strings.HasPrefix(k, name+"-") })
}

// anyOf lists a few of several names.
func anyOf(names []string) string {
	const most = 4
	quoted := record.Each(names, strconv.Quote)
	if n := len(names); n > most {
		return fmt.Sprintf("%s or another of %d", strings.Join(quoted[:most-1], ", "), n)
	}
	return either(quoted)
}

// either writes a list for people: a, b or c.
func either(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// mean asks whether the nearest name was meant, or returns the text otherwise if no name is near.
func mean(name string, known []string, otherwise string) string {
	if n, ok := Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return otherwise
}
