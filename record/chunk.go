package record

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// chunkSize is about how many bytes of lines are decoded at once: enough for every CPU to
// have some, and little beside what is kept of them.
const chunkSize = 1 << 20

// chunk is lines that follow each other.
type chunk struct {
	text   []byte
	ends   []int    // of each line in text, behind its newline
	ended  error    // why no lines follow; text has what there is then of a line that was never finished
	trials []*Trial // what each line is, where decode knows it
}

// fill reads the next lines.
func (c *chunk) fill(br *bufio.Reader) {
	c.text, c.ends, c.ended = c.text[:0], c.ends[:0], nil
	for c.ended == nil && len(c.text) < chunkSize {
		if c.ended = c.readLine(br); c.ended == nil {
			c.ends = append(c.ends, len(c.text))
		}
	}
}

// readLine adds a line with its newline, or what there is and io.EOF.
func (c *chunk) readLine(br *bufio.Reader) error {
	begin := len(c.text)
	for {
		part, err := br.ReadSlice('\n')
		c.text = append(c.text, part...)
		if len(c.text)-begin > maxLine {
			return fmt.Errorf("longer than %d bytes: not a run file", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// line is one of the lines, with its newline.
func (c *chunk) line(i int) []byte {
	if i == 0 {
		return c.text[:c.ends[0]]
	}
	return c.text[c.ends[i-1]:c.ends[i]]
}

// rest is what follows the last line.
func (c *chunk) rest() []byte {
	if len(c.ends) == 0 {
		return c.text
	}
	return c.text[c.ends[len(c.ends)-1]:]
}

// decode has the lines decoded by all CPUs.
func (c *chunk) decode(trial func(line []byte) *Trial) {
	c.trials = make([]*Trial, len(c.ends))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.ends)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(c.ends); i = int(next.Add(1)) - 1 {
				c.trials[i] = trial(c.line(i))
			}
		})
	}
	all.Wait()
}
