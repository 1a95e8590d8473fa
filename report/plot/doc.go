// Package plot draws the charts of reports: bars with intervals, distributions of latencies,
// lines over sweeps and over rounds, heatmaps and groups of bars. It writes them as SVG with
// the colours of the surrounding page, and as PNG.
package plot
