package analysis

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// replay are trials of a source's own figures, so many rounds of them with
// normal noise of the relative deviation sd. Networks without a counterpart are
// left out; a figure relative to a baseline is taken of one of 1e9.
func replay(t testing.TB, source string, rounds int, sd float64) []record.Trial {
	src, ok := reference.ByName(source)
	if !ok {
		t.Fatalf("no source %s", source)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var out []record.Trial
	seen := map[string]int{}
	for round := 1; round <= rounds; round++ {
		add := func(table reference.Table, p reference.Published, network string, value float64) {
			c := cellOf(table, p, network)
			k := kindNamed(table.Metric)
			value *= 1 + sd*r.NormFloat64()
			key := fmt.Sprint(c.Key(), round)
			i, known := seen[key]
			if !known {
				i = len(out)
				seen[key] = i
				out = append(out, record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Status: record.OK, Window: 1, Started: began,
					Metrics: map[string]record.Metric{}, CPU: &record.CPUUse{}})
			}
			switch table.Metric {
			case reference.CPUClient:
				out[i].CPU.Client.System = value
			case reference.CPUServer:
				out[i].CPU.Server.System = value
			default:
				if _, given := out[i].Metrics[k.Name]; !given { // of a cell in two tables the first figure
					out[i].Metrics[k.Name] = record.Metric{Value: value, Unit: k.Unit}
				}
			}
		}
		for _, table := range src.Tables {
			if table.Unit == "percent of the machine" {
				continue
			}
			for _, p := range table.Cells {
				switch base, ok := p.Base(); {
				case ok && p.As != "" && base > 0:
					add(table, p, alternatives(p.As)[0], base)
				case table.Relative && p.As != "":
					add(table, p, alternatives(p.As)[0], (1+p.Value/100)*scaleOf(table))
					add(table, p, baselineAs(src, table, p.Label), scaleOf(table))
				}
			}
		}
	}
	return out
}

func scaleOf(t reference.Table) float64 {
	if t.Metric == record.Throughput {
		return 1e9
	}
	return 0.2
}

func cellOf(t reference.Table, p reference.Published, network string) record.Cell {
	c := record.Cell{Network: network, Hosts: p.Hosts, Family: p.Family, Servers: p.Servers, Clients: p.Clients, Processes: p.Processes,
		Tool: t.Tool, Workload: t.Workload, Placement: record.PlacementDistinct, Underlay: p.Underlay}
	if c.Processes == 1 {
		c.Processes = 0
	}
	if t.Streams > 1 {
		c.Options.Streams = t.Streams
	}
	return c
}
