package report

import (
	"slices"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// TestPricesOfOneInstance has several shapes of one instance's link, and the machine itself at another price: each has a line of its
// own. Tables of the same traffic are told apart by what differs.
func TestPricesOfOneInstance(t *testing.T) {
	var all []analysis.PerPrice
	for _, family := range []int{4, 6} {
		for i, underlay := range []string{"", "m4.large", "m4.large:rate=1gbit"} {
			for _, network := range []string{"native", "bridge"} {
				p := analysis.PerPrice{
					Cell: record.Cell{Network: network, Hosts: 2, Family: family, Workload: record.TCPStream, Underlay: underlay}, Instance: "m4.large",
					Price: 0.1, PerDollar: float64(i+1) * 1e9,
				}
				if underlay == "" {
					p.Price = 0.25
				}
				all = append(all, p)
			}
		}
	}
	sections := priceSections(analysis.Result{Prices: all}, colours{})
	if len(sections) != 1 || len(sections[0].Tables) != 2 {
		t.Fatalf("%+v", sections)
	}
	one, other := sections[0].Tables[0], sections[0].Tables[1]
	if one.Title == other.Title {
		t.Errorf("both have the title %q", one.Title)
	}
	names := record.Each(one.Lines, func(l tableLine) string { return l.Names[0] + " " + l.Names[1] + " " + l.Cells[1].Value })
	if want := []string{"m4.large as it is 0.25 1.00", "m4.large 0.1 2.00", "m4.large:rate=1gbit 0.1 3.00"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if figures := sections[0].figures(); len(figures) != 2 || figures[0].Title == figures[1].Title {
		t.Errorf("%+v", figures)
	}
}
