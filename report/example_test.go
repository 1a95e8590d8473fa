package report_test

import (
	"log"
	"os"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report"
)

// Write a result in the Go benchmark format; all formats are used in the same way.
func ExampleByName() {
	f, err := record.ReadFile("testdata/specimen.ndjson")
	if err != nil {
		log.Fatal(err)
	}
	bench, ok := report.ByName("bench")
	if !ok {
		log.Fatal("no such format")
	}
	f.Trials = f.Trials[:2]
	if err := bench.Write(os.Stdout, analysis.Analyze(f), report.Options{Trials: f.Trials}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// goos: linux
	// goarch: amd64
	// pkg: nettoll
	// cpu: AMD EPYC 7713
	// kernel: 6.1.0-18
	// run: 5f3a9c01
	//
	// Unit bit/s better=higher
	// Unit cpu-sec/GB better=lower
	// Unit retransmits better=lower
	//
	// BenchmarkTCPStream/network=host/hosts=1/family=4/servers=1/clients=1/tool=engine/options=1_stream,_messages_of_128_KiB/placement=distinct 1 2.02501e+10 bit/s 0.353367 cpu-sec/GB 4 retransmits
	// BenchmarkTCPStream/network=host/hosts=1/family=4/servers=1/clients=1/tool=engine/options=1_stream,_messages_of_128_KiB/placement=distinct 1 1.99248e+10 bit/s 0.351218 cpu-sec/GB 4 retransmits
}
