package sampler

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/nl"
	"nettoll/internal/wrap"
)

// Dialled are TCP and UDP connections to ports First to Last of an address, behind which there are servers with other addresses.
type Dialled struct {
	To          netip.Addr
	First, Last int
	Servers     []netip.Addr
}

// Translated says what a kernel has done with such connections.
type Translated struct {
	Tracked int // that connection tracking knows
	DNAT    int // of these, those whose destination it has translated to that of a server
	IPVS    int // that IPVS leads to a server
}

// Find looks for the connections in the network namespace of the caller. That takes CAP_NET_ADMIN. proc is "/proc".
func (d Dialled) Find(proc string) (t Translated, err error) {
	known, err := nl.Connections("", d.To, d.First, d.Last, d.Servers)
	if err != nil {
		return t, fmt.Errorf("sampler: %w", err)
	}
	t.Tracked, t.DNAT = known.All, known.Translated
	f, err := os.Open(filepath.Join(proc, "net/ip_vs_conn"))
	if errors.Is(err, os.ErrNotExist) {
		return t, nil // the kernel has no IPVS
	}
	if err != nil {
		return t, fmt.Errorf("sampler: connections of IPVS: %w", err)
	}
	defer f.Close()
	t.IPVS, err = d.inIPVS(f)
	return t, wrap.Error(err, "sampler: connections of IPVS")
}

// inIPVS counts the connections in a list like /proc/net/ip_vs_conn: after a line of titles, each line has a protocol, and then,
// each followed by a port, the addresses of a client, of the virtual server and of the real one, all in hexadecimal.
func (d Dialled) inIPVS(list io.Reader) (n int, err error) {
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 7 || f[0] != "TCP" && f[0] != "UDP" {
			continue
		}
		to, err := hexAddr(f[3])
		if err != nil {
			return n, err
		}
		port, err := strconv.ParseUint(f[4], 16, 16)
		if err != nil {
			return n, fmt.Errorf("port %q: %w", f[4], err)
		}
		if to != d.To || int(port) < d.First || int(port) > d.Last {
			continue
		}
		at, err := hexAddr(f[5])
		if err != nil {
			return n, err
		}
		if slices.Contains(d.Servers, at) {
			n++
		}
	}
	return n, lines.Err()
}

// hexAddr parses an address as IPVS writes it: eight hexadecimal digits for IPv4, and IPv6 in full.
func hexAddr(text string) (netip.Addr, error) {
	if strings.Contains(text, ":") {
		return netip.ParseAddr(text)
	}
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address %q: %w", text, err)
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), nil
}
