package record_test

import (
	"testing"

	"nettoll/record"
)

// TestFollowsLoad has powersave keep to the lowest frequency, except with drivers that choose by themselves.
func TestFollowsLoad(t *testing.T) {
	for _, c := range []struct {
		driver, governor string
		want             bool
	}{
		{"acpi-cpufreq", "performance", false}, {"acpi-cpufreq", "powersave", false}, {"acpi-cpufreq", "userspace", false},
		{"acpi-cpufreq", "schedutil", true}, {"acpi-cpufreq", "ondemand", true}, {"acpi-cpufreq", "conservative", true},
		{"intel_pstate", "powersave", true}, {"amd-pstate-epp", "powersave", true}, {"amd-pstate-epp", "performance", false},
	} {
		p := &record.Power{FrequencyDriver: c.driver, Governors: []string{c.governor}}
		if got := p.FollowsLoad(); got != c.want {
			t.Errorf("%s %s: follows the load %v, want %v", c.driver, c.governor, got, c.want)
		}
	}
}

// TestIPMTU has a route whose MTU counts only where it is less than the device's.
func TestIPMTU(t *testing.T) {
	for route, want := range map[int]int{0: 1500, 1450: 1450, 1500: 1500, 9000: 1500} {
		e := record.Endpoint{MTU: 1500, RouteMTU: route}
		if got := e.IPMTU(); got != want || e.Routed() != (want < 1500) {
			t.Errorf("a route with MTU %d: %d, routed %v; want %d", route, got, e.Routed(), want)
		}
	}
}
