package record

// Ports of servers: below the ephemeral ones, which begin at 32768.
const (
	FirstPort = 20001
	LastPort  = 32767
	PortBlock = 8 // each server has a multiple of this
)

// ServerPorts returns how many TCP and UDP ports each server has, in whole blocks: one for all its clients, and two for each
// process of a client.
func ServerPorts(servers, clients, processes int) int {
	own := 1 + 2*((clients+servers-1)/servers)*max(processes, 1)
	return (own + PortBlock - 1) / PortBlock * PortBlock
}
