package kube

import "testing"

// An API server is started again only if it refuses the feature gate, and not for whatever else ended one that names it.
func TestRefusedFeatureGate(t *testing.T) {
	for said, want := range map[string]bool{
		`invalid argument "…=false" for "--feature-gates" flag: cannot set feature gate MultiCIDRServiceAllocator to false, feature is locked to true`: true,
		`invalid argument "…=false" for "--feature-gates" flag: unrecognized feature gate: MultiCIDRServiceAllocator`:                                  true,
		`Setting GA feature gate MultiCIDRServiceAllocator=false. It will be removed in a future release.`:                                             false,
		`cannot set feature gate Another to false, feature is locked to true`:                                                                          false,
	} {
		if got := noMap.MatchString(said); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}
