package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"nettoll/record"
)

// Sizes in bytes, of what a packet of a stream over an Ethernet of 1500 has around its payload. A
// token bucket counts the Ethernet header, and neither preamble nor checksum.
const (
	ethernet   = 14
	tcpHeader  = 20 + 12 // with timestamps (RFC 7323)
	vxlanOuter = 20 + 8 + 8 + ethernet
	packet     = 1500
)

// rates measures a link of 1 Gbit/s, in so many rounds, and judges whether the payload's rate is
// met that the headers leave of it: no network can have another one.
func rates(ctx context.Context, w *work) error {
	const rate, aim = 1e9, 0.01
	w.total = 1
	args := []string{"native", "vxlan", "--hosts", "2", "-4", "-6", "--underlay", "rate=1gbit", "--workloads", record.TCPStream, "-t", "2s", "--warmup", "1s"}
	f, err := w.run(ctx, "rates", append(args, fixedRounds(w.size)...)...)
	if err != nil {
		return err
	}
	for row := range rows(f) {
		header := map[int]int{4: 20, 6: 40}[row.Cell.Family] + tcpHeader
		if row.Cell.Network == "vxlan" {
			header += vxlanOuter
		}
		want := rate * float64(packet-header) / (packet + ethernet)
		got, ok := row.Figure(record.Throughput)
		what := fmt.Sprintf("%s, IPv%d, over 1 Gbit/s: throughput ÷ %.1f Mbit/s", row.Cell.Network, row.Cell.Family, want/1e6)
		if !ok || got.Summary.Level == 0 {
			fmt.Printf("%-58s %s\n", what, verdict(false, "not known"))
			continue
		}
		of := got.Summary
		off := max(math.Abs(of.Low/want-1), math.Abs(of.High/want-1))
		fmt.Printf("%-58s %.4f  (%.4f to %.4f, n=%d)  aim within %.2f of 1: %s\n",
			what, of.Estimate/want, of.Low/want, of.High/want, of.N, aim, verdict(off <= aim, "off by "+strconv.FormatFloat(100*off, 'f', 2, 64)+" %"))
	}
	return nil
}
