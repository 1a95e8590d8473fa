// Package nft writes and reads netfilter rules. nettoll uses the kernel's
// nf_tables directly, through a library, and never the iptables program: rules
// of either reach the same hooks and the same connection tracking, iptables on
// current distributions is itself a front end of nf_tables, and a lab that needs
// no program works on a machine that has none.
package nft

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Firewall is one table of the inet family (IPv4 and IPv6) in one namespace.
// Changes are collected until Commit; of many rules, the first ones are in force
// before.
type Firewall struct {
	ns    *os.File
	conn  *nftables.Conn
	table *nftables.Table
	rules int
	texts []*chainText

	flight    int   // how many rules are sent together
	collected int   // rules since the last flush
	err       error // of a flush before Commit
}

// chainText is what nft(8) would print of a chain.
type chainText struct {
	head  string
	rules []string
}

// String is the table as nft(8) would print it, without the counters.
func (f *Firewall) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", f.table.Name)
	for _, c := range f.texts {
		fmt.Fprintf(&b, "\tchain %s\n", c.head)
		for _, r := range c.rules {
			fmt.Fprintf(&b, "\t\t%s\n", r)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// New begins a table in the namespace at path.
func New(path, table string) (*Firewall, error) {
	ns, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("nft: open network namespace: %w", err)
	}
	f := &Firewall{ns: ns, flight: firstFlight}
	f.conn, err = nftables.New(nftables.WithNetNSFd(int(ns.Fd())), nftables.WithSockOptions(f.makeRoom))
	if err != nil {
		ns.Close()
		return nil, fmt.Errorf("nft: %w", err)
	}
	f.table = f.conn.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: table})
	return f, nil
}

// Commit brings all collected changes into force at once.
func (f *Firewall) Commit() error {
	f.flush()
	if f.err != nil {
		return fmt.Errorf("nft: commit table %s: %w", f.table.Name, f.err)
	}
	return nil
}

// A flight is the rules that are sent together. All of it is one message, which has to fit
// into a socket's buffer, and so have the kernel's answers to each rule. The kernel looks
// at all rules of a chain for each flight: of a thousand small ones they take seconds.
const (
	firstFlight = 20 // fits into every buffer
	buffer      = 4 << 20
	// ruleRoom is more than a rule takes of the buffer, or the answer to it, in bytes.
	ruleRoom = 4 << 10
)

// makeRoom asks for larger buffers of a socket, and finds out how much fits into them.
// Ordinary users get as much as net.core.rmem_max and wmem_max say.
func (f *Firewall) makeRoom(c *netlink.Conn) error {
	if err := errors.Join(c.SetReadBuffer(buffer), c.SetWriteBuffer(buffer)); err != nil {
		return err
	}
	in, err := c.ReadBuffer()
	if err != nil {
		return err
	}
	out, err := c.WriteBuffer()
	f.flight = max(firstFlight, min(in, out)/ruleRoom)
	return err
}

// collect makes room for another rule.
func (f *Firewall) collect() {
	if f.collected++; f.collected > f.flight {
		f.flush()
		f.collected = 1
	}
}

func (f *Firewall) flush() {
	if err := f.conn.Flush(); err != nil && f.err == nil {
		f.err = err
	}
	f.collected = 0
}

// Remove deletes the table and everything in it.
func (f *Firewall) Remove() error {
	defer f.ns.Close()
	f.conn.DelTable(f.table)
	return f.Commit()
}

// Close lets the namespace go. The table stays where it is in force, and can be
// neither changed nor asked any more.
func (f *Firewall) Close() error {
	if err := f.ns.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("nft: close network namespace: %w", err)
	}
	return nil
}

// Chain is a list of rules.
type Chain struct {
	f    *Firewall
	c    *nftables.Chain
	text *chainText
}

// Hook is a place in the kernel's packet path, with the priority that iptables
// has there.
type Hook struct {
	name     string
	typ      nftables.ChainType
	hook     *nftables.ChainHook
	priority *nftables.ChainPriority
}

// The hooks that container engines use.
var (
	Input          = Hook{"input", nftables.ChainTypeFilter, nftables.ChainHookInput, nftables.ChainPriorityFilter}
	Forward        = Hook{"forward", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter}
	PreroutingNAT  = Hook{"prerouting", nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest}
	OutputNAT      = Hook{"output", nftables.ChainTypeNAT, nftables.ChainHookOutput, nftables.ChainPriorityNATDest}
	PostroutingNAT = Hook{"postrouting", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource}
)

// BaseChain adds a chain at a hook. Its policy is what befalls packets that no rule decides.
func (f *Firewall) BaseChain(name string, h Hook, drop bool) Chain {
	policy, verdict := nftables.ChainPolicyAccept, "accept"
	if drop {
		policy, verdict = nftables.ChainPolicyDrop, "drop"
	}
	c := f.conn.AddChain(&nftables.Chain{
		Table: f.table, Name: name, Type: h.typ, Hooknum: h.hook, Priority: h.priority, Policy: &policy,
	})
	return f.remember(c, fmt.Sprintf("%s { type %s hook %s; policy %s;", name, h.typ, h.name, verdict))
}

func (f *Firewall) remember(c *nftables.Chain, head string) Chain {
	text := &chainText{head: head}
	f.texts = append(f.texts, text)
	return Chain{f, c, text}
}

// Chain adds a chain that rules jump to.
func (f *Firewall) Chain(name string) Chain {
	return f.remember(f.conn.AddChain(&nftables.Chain{Table: f.table, Name: name}), name+" {")
}

// Rule appends a rule of matches and then a verdict. Each rule counts, as rules
// of iptables do.
func (c Chain) Rule(parts ...Part) Rule {
	c.f.collect()
	c.f.rules++
	r := Rule{f: c.f, counter: fmt.Sprintf("rule%d", c.f.rules)}
	c.f.conn.AddObj(&nftables.CounterObj{Table: c.f.table, Name: r.counter})
	var exprs []expr.Any
	var words []string
	for i, p := range parts {
		if i == len(parts)-1 {
			exprs = append(exprs, &expr.Objref{Type: unix.NFT_OBJECT_COUNTER, Name: r.counter})
			words = append(words, "counter")
		}
		exprs, words = append(exprs, p.exprs...), append(words, p.text)
	}
	c.text.rules = append(c.text.rules, strings.Join(words, " "))
	c.f.conn.AddRule(&nftables.Rule{Table: c.f.table, Chain: c.c, Exprs: exprs})
	return r
}

// Filler appends a rule that counts like any other, but cannot be asked.
func (c Chain) Filler(match, verdict Part) {
	c.f.collect()
	exprs := append(append(append([]expr.Any(nil), match.exprs...), &expr.Counter{}), verdict.exprs...)
	c.text.rules = append(c.text.rules, match.text+" counter "+verdict.text)
	c.f.conn.AddRule(&nftables.Rule{Table: c.f.table, Chain: c.c, Exprs: exprs})
}

// Rule is a rule that can be asked what matched it.
type Rule struct {
	f       *Firewall
	counter string
}

// Count is what matched the rule since it was made. A rule of a NAT chain sees
// the first packet of each connection only.
func (r Rule) Count() (packets, bytes uint64, err error) {
	o, err := r.f.conn.GetObject(&nftables.CounterObj{Table: r.f.table, Name: r.counter})
	if err != nil {
		return 0, 0, fmt.Errorf("nft: read counter %s: %w", r.counter, err)
	}
	c, ok := o.(*nftables.CounterObj)
	if !ok {
		return 0, 0, fmt.Errorf("nft: read counter %s: the kernel answered with a %T", r.counter, o)
	}
	return c.Packets, c.Bytes, nil
}
