package analysis

import (
	"slices"
	"testing"

	"nettoll/record"
)

func endpointsOf(mtu int, change func(*record.Endpoint)) []record.Endpoint {
	var out []record.Endpoint
	for _, role := range []string{"client", "server"} {
		e := record.Endpoint{Name: role, Role: role, MTU: mtu, Qdisc: "noqueue",
			Offloads: map[string]bool{"tso": true, "gro": true},
			Sysctls:  map[string]string{"tcp_congestion_control": "bbr", "tcp_rmem": "4096\t131072\t6291456"}}
		if change != nil {
			change(&e)
		}
		out = append(out, e)
	}
	return out
}

func TestDifferences(t *testing.T) {
	mss := func(v uint32) []record.Flow {
		return []record.Flow{{TCP: &record.TCPInfo{SndMSS: v, Congestion: "bbr"}}}
	}
	for _, tt := range []struct {
		name      string
		endpoints []record.Endpoint
		flows     []record.Flow
		want      []string
	}{
		{"equal", endpointsOf(1500, nil), mss(1448), nil},
		{"MTU and MSS", endpointsOf(1450, nil), mss(1398), []string{"MTU 1450 against 1500"}},
		{"at the server", endpointsOf(1500, func(e *record.Endpoint) {
			if e.Role == "server" {
				e.Offloads["gro"], e.Qdisc = false, "fq"
			}
		}), mss(1448), []string{"server gro off against on", "server qdisc fq against noqueue"}},
		{"sysctls", endpointsOf(1500, func(e *record.Endpoint) {
			e.Sysctls["tcp_congestion_control"], e.Sysctls["tcp_rmem"] = "cubic", "4096 131072 1"
		}), mss(1448), []string{"tcp_congestion_control cubic against bbr", "tcp_rmem 4096 131072 1 against 4096 131072 6291456"}},
		{"white space is no difference", endpointsOf(1500, func(e *record.Endpoint) { e.Sysctls["tcp_rmem"] = "4096 131072 6291456" }), mss(1448), nil},
		{"several values", append(endpointsOf(1500, nil), endpointsOf(1450, nil)...), mss(1448), []string{"MTU 1450/1500 against 1500"}},
		{"not recorded", nil, nil, nil},
		{"not recorded in part", []record.Endpoint{{Role: "client", MTU: 9000}}, nil, []string{"client MTU 9000 against 1500"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := func(network string, e []record.Endpoint, f []record.Flow) series {
				trial := throughputTrial(streamCell(network), 1, 1)
				trial.Endpoints, trial.Flows = e, f
				return series{trial.Cell, []*record.Trial{&trial}}
			}
			got := differences(of("bridge", tt.endpoints, tt.flows), of("host", endpointsOf(1500, nil), mss(1448)))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
