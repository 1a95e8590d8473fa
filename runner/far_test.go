package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/platform"
	"nettoll/workload"
)

// clocked is a standing tool that knows clocks.
type clocked struct {
	workload.Standing
	clocks *workload.Clocks
}

func (c clocked) Clocks() *workload.Clocks { return c.clocks }

// called is an endpoint with a name and nothing else.
type called string

func (c called) Name() string        { return string(c) }
func (c called) OnHost() string      { return string(c) }
func (called) Facts() platform.Facts { return platform.Facts{} }
func (called) Start(context.Context, platform.Command) (platform.Process, error) {
	return nil, errors.ErrUnsupported
}

// between returns a network between the machine a, which has the server, and the machine b.
func between(ahead, within, apart time.Duration) *player {
	server := &AgentEndpoint{Endpoint: called("h1"), client: &agent.Client{}}
	client := &AgentEndpoint{Endpoint: called("h2"), client: &agent.Client{}}
	p := &player{attempt: &attempt{proof: &proof{}, watch: &watcher{}, links: []link{{client: client, server: server}}}}
	a, b := &machine{boot: "a", at: server}, &machine{boot: "b", at: client}
	p.at = &machines{all: []*machine{b, a}, of: map[*AgentEndpoint]*machine{server: a, client: b}}
	p.standing = clocked{clocks: &workload.Clocks{
		Ahead: ahead, Within: within, Apart: apart,
		Of: map[platform.Endpoint]time.Duration{server: ahead, client: ahead + time.Hour},
	}}
	return p
}

// TestTurnsByTheClockThatIsKnownBest has networks with servers on one machine, which know its clock more or
// less precisely: all take their turns by what the most precise one knows. Clocks that are not known well
// enough allow no turns.
func TestTurnsByTheClockThatIsKnownBest(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	well, badly := between(time.Minute, 5*ms, 10*us), between(time.Minute+30*ms, 40*ms, 20*us)
	known, err := timesOf(t.Context(), []*player{badly, nil, well})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*player{well, badly} {
		if p.ahead == nil || *p.ahead != time.Minute {
			t.Errorf("its first server is %v ahead", p.ahead)
		}
	}
	for at, want := range map[*AgentEndpoint]time.Duration{
		badly.links[0].server: time.Minute, badly.links[0].client: time.Minute + time.Hour, well.links[0].client: time.Minute + time.Hour,
	} {
		if got := known[at.client]; got != want {
			t.Errorf("an agent's clock is %v ahead, want %v", got, want)
		}
	}
	here := &player{attempt: &attempt{proof: &proof{}, watch: &watcher{}, at: &machines{}}, standing: clocked{}}
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, us, 2*ms)}); err == nil || !strings.Contains(err.Error(), "it took no turns, since clocks of the machines may be 2ms apart") {
		t.Errorf("the two ends: error %v", err)
	}
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, 40*ms, us), here}); !errors.Is(err, errAlsoHere) {
		t.Errorf("this machine and another one: error %v", err)
	}
	if _, err := timesOf(t.Context(), []*player{between(time.Minute, us, us), here}); err != nil {
		t.Error(err)
	}
}
