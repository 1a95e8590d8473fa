package record_test

import (
	"fmt"
	"log"
	"strings"

	"nettoll/record"
)

// The last line of a run file may be incomplete: it is left out, and its length is reported.
func ExampleRead() {
	const run = `{"type":"run","schema_version":1,"id":"0123456789abcdef01234567"}
{"type":"trial","cell":{"network":"bridge","hosts":1,"family":4,"servers":1,"clients":1,"tool":"engine","workload":"tcp_rr","options":{},"placement":"free"},"round":1,"order":1,"status":"ok","window_s":1,"metrics":{"transaction_rate":{"value":25000,"unit":"transactions/s"}}}
{"type":"tri`
	f, err := record.Read(strings.NewReader(run))
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range f.Trials {
		fmt.Println(t.Cell.Network, t.Status, t.Metrics[record.TransactionRate].Value)
	}
	fmt.Println(f.Truncated, "bytes of a line that was not finished")
	// Output:
	// bridge ok 25000
	// 12 bytes of a line that was not finished
}
