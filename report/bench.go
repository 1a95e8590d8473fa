package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	"nettoll/analysis"
	"nettoll/record"
)

// benchUnits are the units of metrics that are identified by a unit other than their name.
var benchUnits = map[string]string{
	record.Throughput: "bit/s", record.ThroughputPerClient: "bit/s/client", record.PacketRate: "packets/s", record.TransactionRate: "transactions/s",
	record.CPUPerGB: "cpu-sec/GB", record.CPUPerTransaction: "cpu-sec/transaction",
}

// benchUnit names a metric as the benchmark format requires: a unit identifies a metric, for
// example p99.9-sec, and the program that reads it chooses a scale.
func benchUnit(k record.Kind) string {
	name := strings.NewReplacer("latency_", "", "999", "99.9", "_", "-").Replace(k.Name)
	if k.Unit == "s" {
		name += "-sec"
	}
	return cmp.Or(benchUnits[k.Name], name)
}

// writeBench writes one line for every OK trial, so that "benchstat -col /network" compares the networks by itself.
func writeBench(w io.Writer, res analysis.Result, o Options) error {
	var b strings.Builder
	b.WriteString("goos: linux\n")
	for _, c := range []struct{ key, value string }{
		{"goarch", ofMachines(res, func(m record.Machine) string { return m.Arch })},
		{"pkg", "nettoll"},
		{"cpu", ofMachines(res, func(m record.Machine) string { return m.CPUModel })},
		{"kernel", ofMachines(res, func(m record.Machine) string { return m.Kernel })},
		{"run", res.Run.ID},
		{"hosts", anyNamespaces(res.Scenarios).String()},
	} {
		if value := strings.TrimSpace(Printable(c.value)); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", c.key, value)
		}
	}
	b.WriteByte('\n')
	for _, k := range kindsOf(o.Trials) {
		fmt.Fprintf(&b, "Unit %s better=%s\n", benchUnit(k), k.Better)
	}
	b.WriteByte('\n')
	for _, t := range o.Trials {
		if t.Status != record.OK {
			continue
		}
		var values strings.Builder
		for _, k := range record.Kinds() {
			if v, ok := analysis.ValueOf(&t, k); ok {
				fmt.Fprintf(&values, " %s %s", exact(v), benchUnit(k))
			}
		}
		if values.Len() > 0 {
			fmt.Fprintf(&b, "%s 1%s\n", benchName(t.Cell), values.String())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchName names a cell by its workload and one /key=value for everything
// else. The placement comes last because a trailing number would be read as the
// number of processors, and placements do not end in one.
func benchName(c record.Cell) string {
	name := fmt.Sprintf("Benchmark%s/network=%s/hosts=%d/family=%d/servers=%d/clients=%d/tool=%s",
		camel(c.Workload), benchWord(networkName(c)), c.Hosts, c.Family, c.Servers, c.Clients, benchWord(c.Tool))
	if o := optionsText(c.Options); o != "" {
		name += "/options=" + benchWord(o)
	}
	if c.Underlay != "" {
		name += "/underlay=" + benchWord(c.Underlay)
	}
	for _, f := range coordinates(c) {
		name += "/" + f.name + "=" + benchWord(f.value)
	}
	return name + "/placement=" + benchWord(c.Placement)
}

// benchWord replaces characters that would end a name or begin its next part.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}

// camel writes tcp_stream as TCPStream.
func camel(s string) string {
	var b strings.Builder
	for _, word := range strings.Split(s, "_") {
		switch word {
		case "tcp", "udp", "rr", "crr":
			b.WriteString(strings.ToUpper(word))
		default:
			b.WriteString(capital(benchWord(word)))
		}
	}
	return b.String()
}
