package record

import "fmt"

// Warning is a doubt about a value, with a code that programs can match.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Warn returns a warning if it applies, and otherwise none.
func Warn(applies bool, code, format string, args ...any) []Warning {
	if !applies {
		return nil
	}
	return []Warning{{Code: code, Text: fmt.Sprintf(format, args...)}}
}

// Codes of warnings that reports treat in a way of their own. docs/format.md has all.
const (
	WarnStarved    = "starved-flows"          // flows received nothing in the window
	WarnCold       = "cold-flows"             // flows had received nothing when the window opened
	WarnStalled    = "maybe-stalled"          // a client may have waited for what was lost
	WarnGenerator  = "generator-limited"      // the figures are about the generator of traffic
	WarnOwnControl = "own-congestion-control" // the tool cannot choose the congestion control that the run has

	WarnIdleBusy       = "idle-was-busy"   // the machine was busy while its idle CPU use was measured
	WarnCPULate        = "cpu-late"        // the machine was read too late
	WarnForeignCPU     = "foreign-cpu"     // something else used CPU time
	WarnForeignPackets = "foreign-packets" // something else sent packets
	WarnNotSilent      = "not-silent"      // the network sends packets by itself
	WarnSilenceUnknown = "silence-unknown" // whether it does could not be read
	WarnCPULimit       = "cpu-limit"       // the limit of a container was reached
	WarnContainerCPU   = "container-cpu"   // the CPU time of containers is unknown
	WarnNodeDaemonCPU  = "node-daemon-cpu" // the CPU time of the nodes' daemons is unknown

	WarnFault          = "network-fault"    // a part of the network that carries no payload broke
	WarnPathFound      = "path-found"       // what counted the payload
	WarnPathNotClaimed = "path-not-claimed" // it is unlike what the CNI plugin says
	WarnPathUnproved   = "path-unproved"    // what of the path is not proved
	WarnRemark         = "remark"           // a note on how the network was built, or on how the trial went
)

// Codes of findings: faults of a network that works, or reasons why one does not.
const (
	FoundChecksums     = "wrong-checksums" // checksum offload breaks the network
	FoundTracking      = "conntrack-full"  // connection tracking drops packets
	FoundNeighbours    = "neighbours-full" // the kernel has no room for the neighbours of all containers
	FoundBlackHole     = "mtu-black-hole"  // large packets vanish
	FoundFragmentation = "fragmentation"   // packets are sent in fragments
	FoundMTU           = "mtu-too-large"   // packets may be larger than their path carries
	FoundNested        = "nested-tunnel"   // a tunnel inside a tunnel
)
