package record_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

// TestEveryFieldIsADimension requires each field of a cell to be in the table once.
func TestEveryFieldIsADimension(t *testing.T) {
	var c record.Cell
	named := map[any]string{}
	for _, d := range record.Dimensions() {
		field := d.Field(&c)
		if other := named[field]; other != "" {
			t.Errorf("%s and %s are one field", d.Name, other)
		}
		named[field] = d.Name
		if found, ok := record.DimensionOf(d.Name); !ok || found.Name != d.Name || found.Title == "" {
			t.Errorf("%s is found as %+v", d.Name, found)
		}
		if _, number := d.Raw(c); (d.Part == record.Option || d.Part == record.Condition) && (d.About == "" || number && d.Most == 0) {
			t.Errorf("%s is an option or a condition without words, or without a limit", d.Name)
		}
	}
	each(reflect.ValueOf(&c).Elem(), "Cell", func(name string, v reflect.Value) {
		if named[v.Addr().Interface()] == "" {
			t.Errorf("%s is no dimension", name)
		}
	})
}

// TestIdentifiers checks the names of keys, columns and labels, which have to be possible as labels of OpenMetrics.
func TestIdentifiers(t *testing.T) {
	label := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, d := range record.Dimensions() {
		if id := d.Identifier(); !label.MatchString(id) || strings.ReplaceAll(id, "_", "-") != d.Name {
			t.Errorf("%s has the identifier %q", d.Name, id)
		}
	}
}

// TestDimensionsOfACell reads, sets and clears each field through the table.
func TestDimensionsOfACell(t *testing.T) {
	full := filled[record.Cell](t, 3)
	for _, d := range record.Dimensions() {
		if !d.IsSet(full) || d.IsSet(record.Cell{}) {
			t.Errorf("%s is set: %v, and in no cell: %v", d.Name, d.IsSet(full), d.IsSet(record.Cell{}))
		}
		cleared := full
		d.Clear(&cleared)
		if d.IsSet(cleared) || cleared == full {
			t.Errorf("%s was not cleared", d.Name)
		}
		if d.Set(&cleared, d.Value(full)); cleared != full {
			t.Errorf("%s was not set", d.Name)
		}
		if n, ok := d.Number(record.Cell{}); n != d.Usual || ok == (d.Switch() || reflect.ValueOf(d.Field(&full)).Elem().Kind() == reflect.String) {
			t.Errorf("%s is %d, %v in no cell", d.Name, n, ok)
		}
	}
}

// TestDefaultsOfConditions checks that a cell in which a condition was set to its default equals one that does not set it.
func TestDefaultsOfConditions(t *testing.T) {
	for name, value := range map[string]any{
		"neighbours": 0, "rules": 0, "services": 0, "mtu": 1500, "offload": "on", "normalize": false, "cni": record.CNIBridge, "policies": 0,
	} {
		d, _ := record.DimensionOf(name)
		c := filled[record.Cell](t, 1)
		if d.Set(&c, value); d.IsSet(c) {
			t.Errorf("%s is %v", name, d.Value(c))
		}
	}
}

// TestKeyStays requires keys to stay unchanged: programs compare them.
func TestKeyStays(t *testing.T) {
	c := record.Cell{
		Network: "docker:bridge", Hosts: 2, Family: 6, Servers: 2, Clients: 8, Tool: "iperf3", Workload: "tcp_stream", Placement: "free",
		Options: record.Options{
			Streams: 4, MessageSize: 1024, Window: 4096, Congestion: "cubic", ZeroCopy: true, SkipRxCopy: true, RequestSize: 1, ResponseSize: 2,
			Bandwidth: 3, Rate: 5, Reverse: true, NoKeepAlive: true, GSO: true,
		},
		Underlay: "m4/x", Twin: 1, Baseline: "veth", Processes: 3, MTU: 9000, Offload: "off", Normalize: true,
		Setup: record.Setup{Neighbours: 6, Rules: 7, Services: 8, CNI: "flannel", Policies: 9},
	}
	const want = "docker:bridge/hosts=2/ipv6/2x8/iperf3:tcp_stream/P=4/l=1024/w=4096/req=1/resp=2/b=3/rate=5/C=cubic/Z/skip-rx-copy/R/no-keep-alive/gso" +
		"/free/underlay=m4%2Fx/processes=3/neighbours=6/rules=7/services=8/mtu=9000/twin=1/offload=off/normalize=1/cni=flannel/policies=9/baseline=veth"
	if got := c.Key(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c = record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: "tcp_rr", Placement: "same"}
	if got, want := c.Key(), "bridge/hosts=1/ipv4/1x1/engine:tcp_rr/same"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTakes(t *testing.T) {
	for option, want := range map[string]string{
		"message-size":  "tcp_stream udp_stream tcp_bidir latency_under_load",
		"zero-copy":     "tcp_stream tcp_bidir",
		"request-size":  "tcp_rr tcp_crr udp_rr paced_rr latency_under_load",
		"response-size": "tcp_rr tcp_crr udp_rr paced_rr latency_under_load http redis",
		"bandwidth":     "tcp_stream udp_stream",
		"gso":           "udp_stream",
		"rate":          "paced_rr",
		"reverse":       "tcp_stream udp_stream",
		"no-keep-alive": "http",
		"congestion":    "tcp_stream tcp_bidir tcp_rr tcp_crr paced_rr latency_under_load",
		"window":        "tcp_stream tcp_bidir udp_stream tcp_rr tcp_crr udp_rr paced_rr latency_under_load",
		"streams":       "tcp_stream tcp_bidir udp_stream tcp_rr tcp_crr udp_rr paced_rr latency_under_load http redis postgres",
	} {
		takers := strings.Fields(want)
		for _, w := range strings.Fields("tcp_stream tcp_bidir udp_stream tcp_rr tcp_crr udp_rr paced_rr latency_under_load http redis postgres") {
			d, ok := record.DimensionOf(option)
			if got := d.Takes(w); !ok || got != slices.Contains(takers, w) {
				t.Errorf("%s takes %s: %t", w, option, got)
			}
		}
	}
}

func TestPhrases(t *testing.T) {
	c := record.Cell{
		Setup: record.Setup{Rules: 30, Services: 1}, MTU: 9000, Offload: record.OffloadOff, Normalize: true, Processes: 2,
		Options: record.Options{ZeroCopy: true, MessageSize: 64},
	}
	want := map[string]string{
		"rules": "30 further firewall rules", "services": "1 further service", "mtu": "MTU 9000", "offload": "offload off", "normalize": "endpoints made alike",
		"processes": "clients in each container 2", "zero-copy": "zero copy", "message-size": "message size 64",
	}
	for _, d := range record.Dimensions() {
		if d.IsSet(c) && d.Phrase(c) != want[d.Name] {
			t.Errorf("%s: %q, want %q", d.Name, d.Phrase(c), want[d.Name])
		}
		if d.Name == "rules" { // as if it were a number of nothing
			if d.Title = "type of service"; d.Phrase(c) != "type of service 30" {
				t.Errorf("%q", d.Phrase(c))
			}
		}
	}
}
