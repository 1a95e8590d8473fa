package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// What a histogram of latencies may be. The engine's go up to an hour with 3 digits;
// whoever reads one makes room for all that its geometry says, before anything of it is
// known to be used.
const (
	mostDigits  = 3
	mostLatency = 1e15 // ns
)

// check refuses a histogram that takes more room than any that was measured. What cannot
// be read at all is left to those who read it: the other figures of its trial are as good
// as they are.
func (h *Histogram) check() error {
	digits, highest, ok := h.geometry()
	switch {
	case !ok:
		return nil
	case digits > mostDigits:
		return fmt.Errorf("latency.hdr_v2 has %d significant digits; at most %d are possible", digits, mostDigits)
	case highest > mostLatency:
		return fmt.Errorf("latency.hdr_v2 goes up to %d ns; at most %d are possible", highest, int64(mostLatency))
	}
	return nil
}

// inflaters are kept, since each makes room for 40 kB, of which a header needs 40 bytes.
var inflaters sync.Pool

// geometry reads the header of HdrHistogram's compressed V2 encoding: behind a cookie and
// a length of 4 bytes each, zlib's stream of cookie, length, offset and digits, of 4 bytes
// each, and the lowest and highest value, of 8 bytes each.
func (h *Histogram) geometry() (digits int32, highest int64, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(h.Encoded)
	if err != nil || len(raw) < 8 {
		return 0, 0, false
	}
	z, ok := inflaters.Get().(io.ReadCloser)
	if ok {
		err = z.(zlib.Resetter).Reset(bytes.NewReader(raw[8:]), nil)
	} else {
		z, err = zlib.NewReader(bytes.NewReader(raw[8:]))
	}
	if err != nil {
		return 0, 0, false
	}
	defer inflaters.Put(z)
	var header struct {
		_       [3]int32
		Digits  int32
		_       int64
		Highest int64
	}
	if err := binary.Read(io.LimitReader(z, 64), binary.BigEndian, &header); err != nil {
		return 0, 0, false
	}
	return header.Digits, header.Highest, true
}
