package plan

import (
	"slices"

	"nettoll/record"
)

// Takes reports whether an option, by the name of its flag, has an effect on a
// workload. A tool may honour fewer.
func Takes(workload, option string) bool {
	var by []string
	switch option {
	case "message-size":
		by = []string{record.TCPStream, record.TCPBidir, record.UDPStream, record.LatencyUnderLoad}
	case "zero-copy", "skip-rx-copy":
		by = []string{record.TCPStream, record.TCPBidir}
	case "request-size":
		by = []string{record.TCPRR, record.TCPCRR, record.UDPRR, record.PacedRR, record.LatencyUnderLoad}
	case "response-size":
		by = []string{record.TCPRR, record.TCPCRR, record.UDPRR, record.PacedRR, record.LatencyUnderLoad, record.HTTP}
	case "bandwidth", "gso":
		by = []string{record.UDPStream}
	case "rate":
		by = []string{record.PacedRR}
	case "reverse":
		by = []string{record.TCPStream, record.UDPStream}
	case "no-keep-alive":
		by = []string{record.HTTP}
	case "congestion":
		return !slices.Contains([]string{record.UDPStream, record.UDPRR, record.HTTP, record.Redis, record.Postgres}, workload)
	case "window":
		return !slices.Contains([]string{record.HTTP, record.Redis, record.Postgres}, workload)
	default:
		return true
	}
	return slices.Contains(by, workload)
}
