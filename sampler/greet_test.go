package sampler_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/sampler"
)

// here is an agent that runs in the test itself.
type here struct{ name string }

func (here) Call(ctx context.Context, method string, in, out any) error {
	params, err := json.Marshal(in)
	if err != nil {
		return err
	}
	said, err := sampler.Handlers()[method](ctx, params)
	if err != nil || out == nil {
		return err
	}
	b, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// besides is where servers of tests themselves listen. A port that the kernel chose could also be that of a client, which would then
// get its own greeting as the answer.
const besides = "127.0.0.1:20009"

func pair(at string) []sampler.Pair {
	return []sampler.Pair{{Client: here{"client"}, Server: here{"server"}, At: netip.MustParseAddrPort(at), Own: netip.MustParseAddrPort(at)}}
}

func TestPairsMeet(t *testing.T) {
	machine.Loopback(t)
	var all []sampler.Pair
	for _, at := range []string{"127.0.0.1:20008", "[::1]:20008", "127.0.0.2:20008", "127.0.0.1:20008"} {
		all = append(all, pair(at)...)
	}
	if unmet, err := sampler.Meet(t.Context(), all, time.Minute); unmet != nil || err != nil {
		t.Errorf("%+v, %v", unmet, err)
	}
	// No socket is left open.
	for _, network := range []string{"tcp4", "tcp6"} {
		l, err := net.Listen(network, ":20008")
		iferr.Fatal(t, err)
		l.Close()
	}
}

// TestStrangers checks that a server listens at one address, and answers only clients that know the cookie.
func TestStrangers(t *testing.T) {
	machine.Loopback(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cookie := []byte("0123456789abcdef")
	at := netip.MustParseAddrPort("127.0.0.1:20008")
	ended := make(chan error, 1)
	go func() { ended <- sampler.Answer{At: []netip.AddrPort{at, at}, Cookie: cookie}.Run(ctx) }()
	if g, err := (sampler.Greet{To: at, Cookie: cookie, Within: time.Minute}).Run(t.Context()); err != nil || !g.Answered {
		t.Errorf("%+v, %v", g, err)
	}
	for what, stranger := range map[string]sampler.Greet{
		"who knows no cookie":  {To: at, Cookie: []byte("fedcba9876543210"), Within: 300 * time.Millisecond},
		"who comes from aside": {To: netip.MustParseAddrPort("127.0.0.2:20008"), Cookie: cookie, Within: 300 * time.Millisecond},
	} {
		if g, err := stranger.Run(t.Context()); err != nil || g.Answered {
			t.Errorf("%s: %+v, %v", what, g, err)
		}
	}
	cancel()
	iferr.Error(t, <-ended)
}

// TestPortsAreFreeAfterwards takes the ports that an Answer listened at as soon as it has returned.
func TestPortsAreFreeAfterwards(t *testing.T) {
	machine.Loopback(t)
	at := netip.MustParseAddrPort("127.0.0.1:20008")
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sampler.Answer{At: []netip.AddrPort{at}}.Run(ctx) }()
		time.Sleep(100 * time.Microsecond)
		cancel()
		iferr.Fatal(t, <-ended)
		p, err := net.ListenPacket("udp4", at.String())
		iferr.Fatal(t, err)
		p.Close()
		l, err := net.Listen("tcp4", at.String())
		iferr.Fatal(t, err)
		l.Close()
	}
}

// sees greets a server that does not answer, for longer each time until what is seen is wanted: on a busy machine there may be
// no attempt in a short time.
func sees(t *testing.T, g sampler.Greet, want string) sampler.Greeted {
	t.Helper()
	for ; ; g.Within *= 5 {
		got, err := g.Run(t.Context())
		iferr.Fatal(t, err)
		if got.Last == want || g.Within >= 10*time.Second {
			return got
		}
	}
}

func TestWhatIsSeenOfAServerThatDoesNotAnswer(t *testing.T) {
	machine.Loopback(t)
	mute, err := net.Listen("tcp4", besides) // accepts, and sends nothing
	iferr.Fatal(t, err)
	defer mute.Close()
	for to, want := range map[string]string{
		"127.0.0.1:1":         "connection refused",
		"198.51.100.7:1":      "network is unreachable",
		mute.Addr().String():  "connection refused", // over UDP
		"[2001:db8::7]:20008": "network is unreachable",
	} {
		g := sees(t, sampler.Greet{To: netip.MustParseAddrPort(to), Cookie: make([]byte, 16), Within: 400 * time.Millisecond}, want)
		if g.Answered || g.Last != want {
			t.Errorf("%s: %+v; want %s", to, g, want)
		}
	}
}

// answersTCP answers connections until the test ends.
func answersTCP(t *testing.T, at netip.AddrPort) {
	t.Helper()
	l, err := net.Listen("tcp4", at.String())
	iferr.Fatal(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				said := make([]byte, 16)
				if _, err := io.ReadFull(c, said); err == nil {
					c.Write(said)
				}
			}()
		}
	}()
}

// TestServerThatAnswersLate checks that an answer may take longer than the pause between greetings,
// and that the two have not met without an answer over TCP as well.
func TestServerThatAnswersLate(t *testing.T) {
	machine.Loopback(t)
	p, err := net.ListenPacket("udp4", besides)
	iferr.Fatal(t, err)
	defer p.Close()
	go func() {
		for said := make([]byte, 100); ; {
			n, from, err := p.ReadFrom(said)
			if err != nil {
				return
			}
			late := append([]byte(nil), said[:n]...)
			time.AfterFunc(300*time.Millisecond, func() { p.WriteTo(late, from) })
		}
	}()
	to := netip.MustParseAddrPort(p.LocalAddr().String())
	const refused = "connection refused over TCP"
	g := sees(t, sampler.Greet{To: to, Cookie: make([]byte, 16), Within: 2 * time.Second}, refused)
	if g.Answered || !g.Half || g.Last != refused {
		t.Errorf("over UDP alone: %+v", g)
	}
	answersTCP(t, to)
	g, err = (sampler.Greet{To: to, Cookie: make([]byte, 16), Within: time.Minute}).Run(t.Context())
	if err != nil || !g.Answered {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestPortThatIsNeverAnswered has a server that never answers the client's first port, as if its
// first packet had come before the rules.
func TestPortThatIsNeverAnswered(t *testing.T) {
	machine.Loopback(t)
	at := netip.MustParseAddrPort("127.0.0.1:20008")
	p, err := net.ListenPacket("udp4", at.String())
	iferr.Fatal(t, err)
	defer p.Close()
	go func() {
		astray := ""
		for said := make([]byte, 100); ; {
			n, from, err := p.ReadFrom(said)
			if err != nil {
				return
			}
			if astray == "" {
				astray = from.String()
			}
			if from.String() != astray {
				p.WriteTo(said[:n], from)
			}
		}
	}()
	answersTCP(t, at)
	g, err := (sampler.Greet{To: at, Cookie: make([]byte, 16), Within: time.Minute}).Run(t.Context())
	if err != nil || !g.Answered {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestServerThatCannotAnswer(t *testing.T) {
	machine.Loopback(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:20008")
	iferr.Fatal(t, err)
	defer taken.Close()
	unmet, err := sampler.Meet(t.Context(), pair("127.0.0.1:20008"), time.Minute)
	if err == nil || unmet != nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("%+v, %v", unmet, err)
	}
}

// deaf is an agent whose greetings are not answered. It counts them.
type deaf struct{ greeted *atomic.Int64 }

func (d deaf) Call(ctx context.Context, method string, _, _ any) error {
	if method == sampler.MethodAnswer {
		<-ctx.Done()
		return nil
	}
	d.greeted.Add(1)
	return nil
}

// TestMeetingEnds has more clients than greet at once, and none is answered: the others need not wait for as long.
func TestMeetingEnds(t *testing.T) {
	var greeted atomic.Int64
	all := make([]sampler.Pair, 200)
	for i := range all {
		all[i] = sampler.Pair{Client: deaf{&greeted}, Server: deaf{&greeted}}
	}
	unmet, err := sampler.Meet(t.Context(), all, time.Minute)
	if err != nil || unmet == nil || greeted.Load() == 0 || greeted.Load() > 32 {
		t.Errorf("%+v, %v, %d clients greeted", unmet, err, greeted.Load())
	}
}

// TestSteadyGreetings greets a way that opens after a while, and then carries only packets of ports from which none has come
// before.
func TestSteadyGreetings(t *testing.T) {
	machine.Loopback(t)
	at := netip.MustParseAddrPort("127.0.0.1:20008")
	p, err := net.ListenPacket("udp4", at.String())
	iferr.Fatal(t, err)
	defer p.Close()
	const closed = 10 // datagrams
	ports := map[string]int{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for said := make([]byte, 100); ; {
			n, from, err := p.ReadFrom(said)
			if err != nil {
				return
			}
			if ports[from.String()]++; len(ports) > closed && ports[from.String()] == 1 {
				p.WriteTo(said[:n], from)
			}
		}
	}()
	answersTCP(t, at)
	g, err := (sampler.Greet{To: at, Cookie: make([]byte, 16), Within: time.Minute, Steady: true}).Run(t.Context())
	if err != nil || !g.Answered {
		t.Errorf("%+v, %v", g, err)
	}
	p.Close()
	<-ended
	sent := 0
	for _, n := range ports {
		sent += n
	}
	if len(ports) < sent*3/4 { // the kernel gives few ports twice
		t.Errorf("%d datagrams came from %d ports", sent, len(ports))
	}
}

func TestPairsMeetSteadily(t *testing.T) {
	machine.Loopback(t)
	all := append(pair("127.0.0.1:20008"), pair("[::1]:20008")...)
	if unmet, err := sampler.MeetSteadily(t.Context(), all, time.Minute); unmet != nil || err != nil {
		t.Errorf("%+v, %v", unmet, err)
	}
	mute, err := net.Listen("tcp4", besides) // accepts, and sends nothing
	iferr.Fatal(t, err)
	defer mute.Close()
	all[0].At = netip.MustParseAddrPort(mute.Addr().String())
	if unmet, err := sampler.MeetSteadily(t.Context(), all[:1], 400*time.Millisecond); unmet == nil || unmet.Half || err != nil {
		t.Errorf("with a server that does not answer: %+v, %v", unmet, err)
	}
}

// slow is an agent whose calls end some time after they were cancelled.
type slow struct{ here }

func (s slow) Call(ctx context.Context, method string, in, out any) error {
	err := s.here.Call(ctx, method, in, out)
	if method == sampler.MethodAnswer {
		time.Sleep(time.Second)
	}
	return err
}

// TestMet checks that the time of a meeting does not contain that until the server has stopped answering.
func TestMet(t *testing.T) {
	machine.Loopback(t)
	all, met := pair("127.0.0.1:20008"), time.Time{}
	all[0].Server, all[0].Met = slow{}, &met
	unmet, err := sampler.MeetSteadily(t.Context(), all, time.Minute)
	if since := time.Since(met); unmet != nil || err != nil || since < time.Second {
		t.Errorf("%+v, %v: met %v before that", unmet, err, since)
	}
}

// TestServerWithoutUDP checks that a server that is reached only over TCP can be met.
func TestServerWithoutUDP(t *testing.T) {
	machine.Loopback(t)
	at := netip.MustParseAddrPort("127.0.0.1:20008")
	answersTCP(t, at)
	g, err := (sampler.Greet{To: at, Cookie: make([]byte, 16), Within: time.Minute, OnlyTCP: true}).Run(t.Context())
	if err != nil || !g.Answered {
		t.Errorf("%+v, %v", g, err)
	}
	g = sees(t, sampler.Greet{To: netip.MustParseAddrPort("127.0.0.1:1"), Cookie: make([]byte, 16), Within: 200 * time.Millisecond, OnlyTCP: true}, "connection refused")
	if g.Answered || g.Last != "connection refused" {
		t.Errorf("of one that does not exist: %+v", g)
	}
}
