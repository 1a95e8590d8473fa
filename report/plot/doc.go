// Package plot draws the charts of reports: bars with intervals, distributions of
// latencies, lines over sweeps and over rounds, heatmaps and groups of bars, as SVG that takes the
// colours of the page around it, and as PNG.
package plot
