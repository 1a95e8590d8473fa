package nl

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Offsets and numbers of struct ndtmsg, struct ndt_stats and their attributes, from linux/neighbour.h.
const (
	tableSize  = 4  // of struct ndtmsg, the header of a request for all tables
	tableName  = 1  // NDTA_NAME
	tableStats = 7  // NDTA_STATS
	tableFulls = 80 // offset of ndts_table_fulls, a u64
)

// FullTables returns how often each of the machine's tables of neighbours, such as arp_cache, had no room for another one. All
// network namespaces of a machine share them, and each can ask.
func FullTables() (map[string]uint64, error) {
	answers, err := ask(func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(unix.RTM_GETNEIGHTBL, unix.NLM_F_DUMP)
		req.AddData(make(header, tableSize))
		return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEIGHTBL)
	})
	if err != nil {
		return nil, fmt.Errorf("read the tables of neighbours: %w", err)
	}
	full := map[string]uint64{}
	for _, a := range answers {
		if len(a) < tableSize {
			return nil, fmt.Errorf("read the tables of neighbours: an answer has %d bytes", len(a))
		}
		attrs, err := nl.ParseRouteAttr(a[tableSize:])
		if err != nil {
			return nil, fmt.Errorf("read the tables of neighbours: %w", err)
		}
		name := ""
		for _, attr := range attrs { // other answers, about devices, have no statistics
			switch {
			case attr.Attr.Type == tableName:
				name = nl.BytesToString(attr.Value)
			case attr.Attr.Type == tableStats && len(attr.Value) >= tableFulls+8:
				full[name] = binary.NativeEndian.Uint64(attr.Value[tableFulls:])
			}
		}
	}
	return full, nil
}
