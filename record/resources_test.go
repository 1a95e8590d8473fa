package record_test

import (
	"slices"
	"testing"

	"nettoll/record"
)

// TestOwnCPUs has a cluster give a container CPUs of its own only where request and limit are the same whole number of CPUs, and
// where these are all that it may use.
func TestOwnCPUs(t *testing.T) {
	two := &record.Machine{CPUs: []record.CPU{{ID: 4}, {ID: 5}}}
	given := func(request, limit string) *record.Resources {
		r := &record.Resources{Requests: map[string]string{"memory": "1Gi"}, Limits: map[string]string{"memory": "1Gi"}}
		if request != "" {
			r.Requests["cpu"] = request
		}
		if limit != "" {
			r.Limits["cpu"] = limit
		}
		return r
	}
	for name, c := range map[string]struct {
		of   record.Endpoint
		want []int
	}{
		"its own":             {record.Endpoint{Machine: two, Resources: given("2", "2")}, []int{4, 5}},
		"no request":          {record.Endpoint{Machine: two, Resources: given("", "2")}, nil},
		"no limit":            {record.Endpoint{Machine: two, Resources: given("2", "")}, nil},
		"neither":             {record.Endpoint{Machine: two, Resources: given("", "")}, nil},
		"a lower request":     {record.Endpoint{Machine: two, Resources: given("1", "2")}, nil},
		"parts of CPUs":       {record.Endpoint{Machine: two, Resources: given("2500m", "2500m")}, nil},
		"shared with others":  {record.Endpoint{Machine: two, Resources: given("1", "1")}, nil},
		"in no cluster":       {record.Endpoint{Machine: two}, nil},
		"of unknown machines": {record.Endpoint{Resources: given("2", "2")}, nil},
	} {
		if got := c.of.OwnCPUs(); !slices.Equal(got, c.want) {
			t.Errorf("%s: CPUs %v, want %v", name, got, c.want)
		}
	}
}
