package main

import (
	"context"
	"maps"
	"slices"

	"nettoll/agent"
	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/sampler"
	"nettoll/technique"
	"nettoll/technique/bridge"
	"nettoll/technique/host"
	"nettoll/technique/iptables"
	"nettoll/technique/ipvlan"
	"nettoll/technique/loopback"
	"nettoll/technique/macvlan"
	"nettoll/technique/pipework"
	"nettoll/technique/published"
	"nettoll/technique/routed"
	"nettoll/technique/sharedns"
	"nettoll/technique/veth"
	"nettoll/technique/vxlan"
	"nettoll/workload"
	"nettoll/workload/engine"
	"nettoll/workload/iperf"
	"nettoll/workload/iperf3"
	"nettoll/workload/netperf"
	"nettoll/workload/nuttcp"
	"nettoll/workload/pgbench"
	"nettoll/workload/qperf"
	"nettoll/workload/redisbench"
	"nettoll/workload/sockperf"
	"nettoll/workload/wrk"
)

// platforms is every platform that is compiled in; the first is the default.
func platforms() []platform.Platform {
	return []platform.Platform{lab.New()}
}

// techniques is every technique that is compiled in, in the order of reports.
func techniques() []technique.Technique {
	return []technique.Technique{
		loopback.New(),
		host.New(),
		host.NewNative(),
		sharedns.New(),
		veth.New(),
		bridge.New(),
		bridge.NewWithoutNetfilter(),
		macvlan.New(),
		ipvlan.NewL2(),
		ipvlan.NewL3(),
		pipework.NewVeth(),
		pipework.NewMacvlan(),
		iptables.New(),
		published.New(),
		published.NewProxy(),
		vxlan.New(),
		routed.New(),
	}
}

// tools is every generator of traffic that is compiled in; paths says where programs
// are that are not in PATH.
func tools(paths program.Paths) []workload.Tool {
	return []workload.Tool{
		engine.New(),
		iperf.New(paths),
		iperf3.New(paths),
		netperf.New(paths),
		qperf.New(paths),
		sockperf.New(paths),
		nuttcp.New(paths),
		wrk.New(paths),
		redisbench.New(paths),
		pgbench.New(paths),
	}
}

// programs are those that tools start, as --tool-path names them.
func programs() []string {
	return []string{
		"iperf", "iperf3", "netperf", "netserver", "qperf", "sockperf", "nuttcp",
		"wrk", "nginx", "redis-benchmark", "redis-cli", "redis-server", "pgbench", "postgres",
	}
}

// handlers is what an agent can be asked for.
func handlers(ctx context.Context) map[string]agent.Handler {
	all := engine.Handlers(ctx)
	maps.Copy(all, sampler.Handlers())
	maps.Copy(all, published.Handlers())
	maps.Copy(all, program.Handlers())
	return all
}

func techniqueByName() map[string]technique.Technique {
	all := make(map[string]technique.Technique)
	for _, t := range techniques() {
		all[t.Name()] = t
	}
	return all
}

func toolByName(paths program.Paths) map[string]workload.Tool {
	all := make(map[string]workload.Tool)
	for _, t := range tools(paths) {
		all[t.Name()] = t
	}
	return all
}

func techniqueNames() []string {
	return slices.Collect(func(yield func(string) bool) {
		for _, t := range techniques() {
			if !yield(t.Name()) {
				return
			}
		}
	})
}
