package sampler

import (
	"context"
	"maps"
	"net/netip"
	"sync"
	"time"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/record"
)

// Methods of the agent.
const (
	MethodCounters   = "sampler.counters"   // nothing → map[string]uint64 of Counters, CounterThrottled, CounterFullARP and CounterFullNDP that are not 0
	MethodEndpoint   = "sampler.endpoint"   // netip.Addr of the peer → record.Endpoint
	MethodCondition  = "sampler.condition"  // Condition → an offload that the device cannot turn off, or ""
	MethodOrigin     = "sampler.origin"     // nothing → Origin
	MethodCongestion = "sampler.congestion" // names of algorithms → Control
	MethodCPU        = "sampler.cpu"        // nothing → Snapshot of the machine
	MethodInterfaces = "sampler.interfaces" // nothing → []nl.Interface
	MethodDevice     = "sampler.device"     // Device → Counted
	MethodSeries     = "sampler.series"     // Series → []Reading
	MethodCgroup     = "sampler.cgroup"     // nothing → time.Duration of Cgroup
	MethodEcho       = "sampler.echo"       // Echo → nothing, after echoTime
	MethodReach      = "sampler.reach"      // Reach → Reached
	MethodRoute      = "sampler.route"      // netip.Addr → where packets to it are sent, as text
	MethodAnswer     = "sampler.answer"     // Answer → nothing, when the call is cancelled
	MethodGreet      = "sampler.greet"      // Greet → Greeted
	MethodNamed      = "sampler.named"      // []string, names of programs → []Named
	MethodProcesses  = "sampler.processes"  // []int, PIDs → []time.Duration of CPUTimes
	MethodTranslated = "sampler.translated" // Dialled → Translated
	MethodPrograms   = "sampler.programs"   // whether runs are counted from then on → []Program, if they are
)

// Device is a device in a namespace that the agent can reach; "" is its own.
type Device struct {
	Space string `json:"space,omitempty"`
	Name  string `json:"name"`
	ByIP  bool   `json:"by_ip,omitempty"` // with Counted.IP; for a device of the agent's own namespace
}

// Handlers returns the agent's handlers, for what can only be read, tried or set inside an endpoint.
func Handlers() map[string]agent.Handler {
	var runs runCount
	machine := sync.OnceValues(func() (*CPU, error) { return NewCPU("/proc", "/sys") })
	return map[string]agent.Handler{
		MethodCounters: agent.Typed(func(context.Context, struct{}) (map[string]uint64, error) {
			all, err := Counters("/proc")
			if err == nil {
				all[CounterThrottled] = throttled("/proc", "/sys")
				full, _ := nl.FullTables() // none where the kernel does not tell
				for name, n := range full {
					all[name+tableFulls] = n
				}
			}
			maps.DeleteFunc(all, func(_ string, n uint64) bool { return n == 0 }) // four fifths of them
			return all, err
		}),
		MethodEndpoint: agent.Typed(func(_ context.Context, peer netip.Addr) (record.Endpoint, error) {
			return Endpoint(peer)
		}),
		MethodOrigin:     agent.Typed(func(context.Context, struct{}) (Origin, error) { return FindOrigin("/proc", "/sys") }),
		MethodCongestion: agent.Typed(func(_ context.Context, names []string) (Control, error) { return usable(names) }),
		MethodCPU: agent.Typed(func(context.Context, struct{}) (Snapshot, error) {
			c, err := machine()
			if err != nil {
				return Snapshot{}, err
			}
			return c.Read()
		}),
		MethodInterfaces: agent.Typed(func(context.Context, struct{}) ([]nl.Interface, error) { return Devices("") }),
		MethodDevice: agent.Typed(func(_ context.Context, d Device) (Counted, error) {
			return d.count("/proc")
		}),
		MethodCgroup:     agent.Typed(func(context.Context, struct{}) (time.Duration, error) { return Cgroup("/proc", "/sys") }),
		MethodEcho:       agent.Typed(func(ctx context.Context, e Echo) (struct{}, error) { return struct{}{}, e.Run(ctx) }),
		MethodReach:      agent.Typed(func(ctx context.Context, r Reach) (Reached, error) { return r.Find(ctx) }),
		MethodRoute:      agent.Typed(func(_ context.Context, to netip.Addr) (string, error) { return RouteTo(to) }),
		MethodAnswer:     agent.Typed(func(ctx context.Context, a Answer) (struct{}, error) { return struct{}{}, a.Run(ctx) }),
		MethodGreet:      agent.Typed(func(ctx context.Context, g Greet) (Greeted, error) { return g.Run(ctx) }),
		MethodNamed:      agent.Typed(func(ctx context.Context, names []string) ([]Named, error) { return FindNamed(ctx, "/proc", names) }),
		MethodProcesses:  agent.Typed(func(_ context.Context, pids []int) ([]time.Duration, error) { return CPUTimes(pids) }),
		MethodPrograms:   agent.Typed(func(_ context.Context, count bool) ([]Program, error) { return runs.read(count) }),
		MethodTranslated: agent.Typed(func(_ context.Context, d Dialled) (Translated, error) { return d.Find("/proc") }),
		MethodCondition:  agent.Typed(func(_ context.Context, c Condition) (string, error) { return c.Set() }),
	}
}
