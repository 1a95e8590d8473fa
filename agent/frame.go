package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"nettoll/internal/wrap"
)

// MaxFrame is the longest JSON object that a frame may carry, in bytes.
const MaxFrame = 16 << 20

// request is a call of one method.
type request struct {
	ID     uint64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// response answers the request with the same id.
type response struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// readFrame reads one frame and decodes it into message. It returns io.EOF only when the input
// ended between two frames. The buffer grows with the data that arrives, so that a garbage length
// costs nothing.
func readFrame(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read frame: input ended within the length: %w", err)
		}
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxFrame {
		return fmt.Errorf("read frame: %d bytes announced (it begins with %q), %d allowed: the other end does not speak this protocol", size, head, MaxFrame)
	}
	var body bytes.Buffer
	if n, err := io.CopyN(&body, r, int64(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read frame: %d of %d bytes: %w", n, size, err)
	}
	return wrap.Error(json.Unmarshal(body.Bytes(), message), "decode frame")
}

// encodeFrame returns the frame of a message, including its length.
func encodeFrame(message any) ([]byte, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	if len(body) > MaxFrame {
		return nil, fmt.Errorf("encode frame: %d bytes, %d allowed", len(body), MaxFrame)
	}
	frame := make([]byte, 4, 4+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	return append(frame, body...), nil
}
