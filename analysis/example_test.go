package analysis_test

import (
	"fmt"
	"log"

	"nettoll/analysis"
	"nettoll/record"
)

// Print how each network compares with the baseline of its scenario.
func ExampleAnalyze() {
	f, err := record.ReadFile("../report/testdata/specimen.ndjson")
	if err != nil {
		log.Fatal(err)
	}
	s := analysis.Analyze(f).Scenarios[0]
	for _, row := range s.Rows {
		fig, ok := row.Primary()
		if !ok || fig.Ratio == nil {
			continue
		}
		fmt.Printf("%s ÷ %s, %s: %.2f (%.2f to %.2f), %v\n", row.Cell.Network, s.Rows[0].Cell.Network,
			fig.Kind.Title, fig.Ratio.Value, fig.Ratio.Low, fig.Ratio.High, fig.Ratio.Verdict)
	}
	// Output:
	// veth ÷ host, throughput: 0.67 (0.65 to 0.68), different
	// macvlan ÷ host, throughput: 0.67 (0.66 to 0.68), different
	// bridge ÷ host, throughput: 0.59 (0.58 to 0.59), different
	// published ÷ host, throughput: 0.50 (0.49 to 0.50), different
	// proxy ÷ host, throughput: 0.43 (0.42 to 0.44), different
}
