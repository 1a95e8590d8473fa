// Package nft writes and reads netfilter rules. It uses the kernel's nf_tables directly, through a
// library, and never the iptables program: rules of either use the same hooks and the same connection
// tracking, iptables on current distributions is itself a front end of nf_tables, and a lab without
// that dependency works on machines that lack the program.
package nft

import (
	"errors"
	"fmt"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// Firewall is one table of the inet family (IPv4 and IPv6) in one namespace. Changes are collected
// until Commit; if there are many rules, the first ones are in force earlier. The library could enter the namespace itself, but it
// does so on any thread, also the first one, whose namespace is taken for that of the process: see netns.
type Firewall struct {
	ns    *os.File
	conn  *nftables.Conn
	table *nftables.Table
	rules int

	flight    int   // how many rules are sent together
	collected int   // rules since the last flush
	err       error // of a flush before Commit
}

// New begins a table in the namespace at path.
func New(path, table string) (*Firewall, error) {
	ns, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("nft: open network namespace: %w", err)
	}
	f := &Firewall{ns: ns, flight: firstFlight}
	f.conn, err = nftables.New(nftables.WithSockOptions(f.makeRoom))
	if err != nil {
		ns.Close()
		return nil, fmt.Errorf("nft: %w", err)
	}
	f.table = f.conn.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: table})
	return f, nil
}

// Commit puts all collected changes into force at once.
func (f *Firewall) Commit() error {
	f.flush()
	if f.err != nil {
		return fmt.Errorf("nft: commit table %s: %w", f.table.Name, f.err)
	}
	return nil
}

// A flight is a number of rules that are sent together, in one message. The message and the kernel's
// answers to each rule have to fit into the socket's buffers. For each flight the kernel checks all
// rules of a chain: sending a thousand rules in small flights takes seconds.
const (
	firstFlight = 20 // fits into every buffer
	buffer      = 4 << 20
	// ruleRoom is more than a rule, or the answer to it, takes of the buffer, in bytes.
	ruleRoom = 4 << 10
)

// makeRoom requests larger buffers for a socket, and finds out how many rules fit into them. Ordinary
// users get as much as net.core.rmem_max and wmem_max allow.
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

// collect counts another rule, and sends the collected ones first if there is no room for it.
func (f *Firewall) collect() {
	if f.collected++; f.collected > f.flight {
		f.flush()
		f.collected = 1
	}
}

func (f *Firewall) flush() {
	if err := netns.In(int(f.ns.Fd()), f.conn.Flush); err != nil && f.err == nil {
		f.err = err
	}
	f.collected = 0
}

// Remove deletes the table and everything in it, also what was in force before Commit failed. It is not an error if there is no
// table.
func (f *Firewall) Remove() error {
	defer f.ns.Close()
	f.err = nil
	f.conn.DelTable(f.table)
	if err := f.Commit(); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// Close releases the namespace. A table that is in force stays, and can no longer be changed or read.
func (f *Firewall) Close() error {
	if err := f.ns.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("nft: close network namespace: %w", err)
	}
	return nil
}

// Chain is a list of rules.
type Chain struct {
	f *Firewall
	c *nftables.Chain
}

// Hook is a place in the kernel's packet path, with the priority that iptables uses there.
type Hook struct {
	typ      nftables.ChainType
	hook     *nftables.ChainHook
	priority *nftables.ChainPriority
}

// The hooks that container engines use.
var (
	Input          = Hook{nftables.ChainTypeFilter, nftables.ChainHookInput, nftables.ChainPriorityFilter}
	Forward        = Hook{nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter}
	Output         = Hook{nftables.ChainTypeFilter, nftables.ChainHookOutput, nftables.ChainPriorityFilter}
	PreroutingNAT  = Hook{nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest}
	OutputNAT      = Hook{nftables.ChainTypeNAT, nftables.ChainHookOutput, nftables.ChainPriorityNATDest}
	PostroutingNAT = Hook{nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource}
	// BeforePostroutingNAT sees new connections before any rule there translates them.
	BeforePostroutingNAT = Hook{nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityRef(*nftables.ChainPriorityNATSource - 1)}
)

// BaseChain adds a chain at a hook. drop is its policy for packets that no rule decides.
func (f *Firewall) BaseChain(name string, h Hook, drop bool) Chain {
	policy := nftables.ChainPolicyAccept
	if drop {
		policy = nftables.ChainPolicyDrop
	}
	return Chain{f, f.conn.AddChain(&nftables.Chain{
		Table: f.table, Name: name, Type: h.typ, Hooknum: h.hook, Priority: h.priority, Policy: &policy,
	})}
}

// Chain adds a chain that rules jump to.
func (f *Firewall) Chain(name string) Chain {
	return Chain{f, f.conn.AddChain(&nftables.Chain{Table: f.table, Name: name})}
}

// Rule appends a rule of matches followed by a verdict. Each rule has counters, like rules of
// iptables.
func (c Chain) Rule(parts ...Part) Rule {
	c.f.collect()
	c.f.rules++
	r := Rule{f: c.f, counter: fmt.Sprintf("rule%d", c.f.rules)}
	c.f.conn.AddObj(&nftables.CounterObj{Table: c.f.table, Name: r.counter})
	c.add(&expr.Objref{Type: unix.NFT_OBJECT_COUNTER, Name: r.counter}, parts)
	return r
}

// Filler appends a rule with counters that cannot be read individually.
func (c Chain) Filler(parts ...Part) {
	c.f.collect()
	c.add(&expr.Counter{}, parts)
}

// add appends a rule that counts just before its verdict.
func (c Chain) add(counter expr.Any, parts []Part) {
	var exprs []expr.Any
	for i, p := range parts {
		if i == len(parts)-1 {
			exprs = append(exprs, counter)
		}
		exprs = append(exprs, p...)
	}
	c.f.conn.AddRule(&nftables.Rule{Table: c.f.table, Chain: c.c, Exprs: exprs})
}

// Rule is a rule with readable counters.
type Rule struct {
	f       *Firewall
	counter string
}

// Count returns the packets and bytes that matched the rule since it was made. A rule of a NAT chain
// sees only the first packet of each connection.
func (r Rule) Count() (packets, bytes uint64, err error) {
	err = netns.In(int(r.f.ns.Fd()), func() (err error) {
		packets, bytes, err = count(r.f.conn, r.f.table, r.counter)
		return err
	})
	return packets, bytes, err
}

// Counter returns the name of the rule's counter in its table.
func (r Rule) Counter() string { return r.counter }

// Counted returns what Count does of rules whose table somebody else has made in the namespace at path,
// together.
func Counted(path, table string, counters ...string) (packets, bytes uint64, err error) {
	conn, err := nftables.New()
	if err != nil {
		return 0, 0, fmt.Errorf("nft: %w", err)
	}
	err = netns.Do(path, func() error {
		for _, counter := range counters {
			p, b, err := count(conn, &nftables.Table{Family: nftables.TableFamilyINet, Name: table}, counter)
			if err != nil {
				return err
			}
			packets, bytes = packets+p, bytes+b
		}
		return nil
	})
	return packets, bytes, err
}

func count(conn *nftables.Conn, table *nftables.Table, counter string) (packets, bytes uint64, err error) {
	o, err := conn.GetObject(&nftables.CounterObj{Table: table, Name: counter})
	if err != nil {
		return 0, 0, fmt.Errorf("nft: read counter %s: %w", counter, err)
	}
	c, ok := o.(*nftables.CounterObj)
	if !ok {
		return 0, 0, fmt.Errorf("nft: read counter %s: the kernel answered with a %T", counter, o)
	}
	return c.Packets, c.Bytes, nil
}
