package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/record"
)

// Limits of a suite.
const (
	MaxHosts = 15 // whose containers have addresses
	// MaxServers is how many have a block of 8 ports from 20001 on that ends below
	// the ephemeral ports, which begin at 32768.
	MaxServers = 1595
	// MaxEndpoints is how many endpoints of one host have an address: the 4096 of
	// its IPv4 subnet, less the network's, the gateway's, the broadcast's and one
	// that stays free.
	MaxEndpoints = 4092
	// MaxContainers is how many there can be with those that do not talk, for which there
	// is a spare subnet.
	MaxContainers = 2 * MaxEndpoints
	// MaxProcesses is how many client processes one container can have, by the
	// ports of the servers.
	MaxProcesses = 6379
	// BridgePorts is how many ports a Linux bridge has.
	BridgePorts = 1023

	maxRounds = 10_000
	minWindow = 10 * time.Millisecond // the kernel's clock of CPU time moves in such steps
	maxTime   = 24 * time.Hour
	maxPrice  = 1e6 // dollars an hour
)

// Validate finds the first value that makes no sense, alone or beside another.
// The error is a *FieldError. Whether names are known, Expand says.
func (s Suite) Validate() error {
	for _, check := range []func(Suite) error{
		Suite.checkText, Suite.checkNetworks, Suite.checkWorkloads, Suite.checkPlaces, Suite.checkCounts, Suite.checkConditions,
		Suite.checkTimes, Suite.checkRounds, Suite.checkMachine, Suite.checkPublished,
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func (s Suite) checkText() error {
	for _, f := range []struct{ name, text string }{{"name", s.Name}, {"about", s.About}, {"source", s.Source}, {"instance", s.Instance}} {
		if strings.ContainsFunc(strings.TrimSuffix(f.text, "\n"), isControl) {
			return s.fault(f.name, "must be one line; leave out line breaks and control characters")
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' }

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

// networkMeant says how a network is written that somebody wrote in another way.
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

// isNetwork reports whether the text could name a network, or all of a platform.
func isNetwork(text string) bool {
	platform, name, ok := strings.Cut(text, ":")
	if !ok {
		return isName(text)
	}
	return isName(platform) && isName(name)
}

// isName reports whether the text could name a driver.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

func (s Suite) checkPlaces() error {
	for i, h := range s.Hosts {
		if err := s.outside(fmt.Sprintf("hosts[%d]", i), h, 1, MaxHosts, "hosts are not possible"); err != nil {
			return err
		}
	}
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
	}{{"duration", s.Duration, minWindow}, {"warmup", s.Warmup, 0}, {"time_budget", s.TimeBudget, 0}} {
		switch {
		case f.value <= 0 && f.least > 0:
			return s.fault(f.name, "must be above zero, is %s; write a length of time such as 300ms", f.value)
		case f.value < 0:
			return s.fault(f.name, "must not be negative, is %s; write 0s for none", f.value)
		case f.value < f.least:
			return s.fault(f.name, "%s is too short to measure CPU time; write at least %s", f.value, f.least)
		case f.value > maxTime:
			return s.fault(f.name, "%s is too long; write at most %s", f.value, maxTime)
		}
	}
	if trial := s.Warmup + s.Duration; s.TimeBudget > 0 && s.TimeBudget < trial {
		return s.fault("time_budget", "%s is less than one trial of %s takes; write more, or 0s for no limit", s.TimeBudget, trial)
	}
	return nil
}

func (s Suite) checkRounds() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"min_rounds", s.MinRounds}, {"max_rounds", s.MaxRounds}} {
		if err := s.outside(f.name, f.value, 1, maxRounds, "rounds are not possible"); err != nil {
			return err
		}
	}
	if s.MinRounds > s.MaxRounds {
		return s.faultOfEither("min_rounds", "max_rounds",
			"at least %d and at most %d rounds contradict each other; lower min_rounds or raise max_rounds", s.MinRounds, s.MaxRounds)
	}
	if !(s.Precision > 0 && s.Precision <= 1) {
		return s.fault("precision", "%s is not possible; %swrite a share above 0%% and up to 100%%, such as 5%%", s.Precision, s.Precision.meant())
	}
	if !(s.Confidence >= 0.5 && s.Confidence < 1) {
		return s.fault("confidence", "%s is not possible; %swrite a share from 50%% to below 100%%, such as 95%%", s.Confidence, s.Confidence.meant())
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
	return fmt.Errorf("%s is not possible; %swrite a share above 0%% and below 100%%, such as 5%%", r, r.meant())
}

func (s Suite) checkMachine() error {
	switch {
	case !(s.Price >= 0 && s.Price <= maxPrice):
		return s.fault("price", "%v is not possible; write dollars an hour, such as 0.139", s.Price)
	case s.Price > 0 && s.Instance == "":
		return s.fault("price", "needs the type of the machine that costs it; give instance, such as m4.large")
	}
	return nil
}
