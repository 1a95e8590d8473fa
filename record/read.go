package record

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
)

// maxLine bounds one line of a run file, so that a file of another kind cannot exhaust memory.
const maxLine = 16 << 20

// ErrNotRunFile is the error of a file that is something else.
var ErrNotRunFile = errors.New("not a run file")

// trialPrefix is the beginning of trial lines written by a Writer.
var trialPrefix = []byte(`{"type":"trial",`)

// spending adds up how long the processes of a run file worked: those
// that have ended, and the trials of one that has not.
type spending struct{ ended, trials float64 }

// over records the end of a process, with the time that it recorded or else that of its trials.
func (s *spending) over(elapsed float64) { s.ended, s.trials = s.ended+elapsed, 0 }

// Read reads a run file. A last line without its newline is left out and counted in
// Truncated; any other line that cannot be read is an error that names the line.
func Read(r io.Reader) (*File, error) { return read(r, wholeTrial, func(*Trial) {}) }

// read is Read with brief reducing each trial to what the caller keeps. Valid
// trials are decoded by decode, several at once; all other lines are decoded here.
func read(r io.Reader, decode func(line []byte) *Trial, brief func(*Trial)) (*File, error) {
	f := &File{Open: true}
	var spent spending
	var c chunk
	cells := map[Cell]bool{}
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 0; ; {
		c.fill(br)
		c.decode(decode, brief)
		for i, t := range c.trials {
			n++
			var err error
			if t != nil && n > 1 {
				f.addTrial(t, &spent)
			} else {
				err = f.add(c.line(i), n == 1, &spent, brief)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			f.Size += int64(len(c.line(i)))
			if last := len(f.Trials) - 1; last >= 0 {
				cells[f.Trials[last].Cell] = true
			}
			if most := max(len(f.Run.Cells), len(cells)); most > mostCells {
				return nil, fmt.Errorf("line %d: it has %d different cells; at most %d are possible", n, most, mostCells)
			}
		}
		if errors.Is(c.ended, io.EOF) {
			f.Truncated = int64(len(c.text) - c.begins[c.lines()]) // after the last line
			break
		}
		if c.ended != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, c.ended)
		}
	}
	if f.Size == 0 {
		return nil, fmt.Errorf("%w: it has no complete line", ErrNotRunFile)
	}
	f.Spent = spent.ended + spent.trials
	return f, nil
}

// wholeTrial decodes a trial, or returns nil if it cannot.
func wholeTrial(line []byte) *Trial {
	l := struct {
		*Trial
		SchemaVersion int `json:"schema_version"`
	}{Trial: &Trial{}}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	return l.Trial
}

func (f *File) addTrial(t *Trial, spent *spending) {
	f.Open = true
	f.Trials = append(f.Trials, *t)
	spent.trials += t.Elapsed
	by := f.Run.Version
	if n := len(f.Resumes); n > 0 {
		by = f.Resumes[n-1].Version
	}
	if by != "" {
		f.Versions = AddNew(f.Versions, by)
	}
}

// add adds a line of any type, and returns what is wrong with it.
func (f *File) add(line []byte, first bool, spent *spending, brief func(*Trial)) error {
	var head struct {
		Type          string `json:"type"`
		SchemaVersion int    `json:"schema_version"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		if first {
			return fmt.Errorf("%w: the first line is not JSON", ErrNotRunFile)
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	if first != (head.Type == TypeRun) {
		if first {
			return fmt.Errorf("%w: it begins with type %q instead of %q", ErrNotRunFile, head.Type, TypeRun)
		}
		return errors.New("a second run begins here: run files cannot be joined")
	}
	switch head.Type {
	case TypeRun:
		if head.SchemaVersion < 1 || head.SchemaVersion > SchemaVersion {
			return fmt.Errorf("schema version %d; this nettoll reads 1 to %d", head.SchemaVersion, SchemaVersion)
		}
		return decode(line, &f.Run)
	case TypeTrial:
		var t Trial
		if err := decode(line, &t); err != nil {
			return err
		}
		brief(&t)
		f.addTrial(&t, spent)
		return nil
	case TypeResume:
		f.Open = true
		f.Resumes = append(f.Resumes, Resume{})
		spent.over(spent.trials)
		return decode(line, &f.Resumes[len(f.Resumes)-1])
	case TypeEnd:
		f.Open = false
		f.Ends = append(f.Ends, End{})
		e := &f.Ends[len(f.Ends)-1]
		err := decode(line, e)
		spent.over(e.Elapsed)
		return err
	}
	return fmt.Errorf("unknown type %q", head.Type)
}

// ReadFile reads the run file at path.
func ReadFile(path string) (*File, error) { return readFile(path, Read) }

// ReadFigures reads the run file at path for reports: trials come without Counters, which are checked all the same, and parts that are equal in several trials are shared between them, so that they must not be changed. Each
// trial is passed to finish, unless that is nil, by several goroutines at once. A file of thousands of trials takes half
// the time and a fraction of the memory that ReadFile takes.
func ReadFigures(path string, finish func(*Trial)) (*File, error) {
	return readFile(path, func(r io.Reader) (*File, error) {
		f := figures{finish: finish}
		return read(r, f.trial, f.brief)
	})
}

func readFile(path string, read func(io.Reader) (*File, error)) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// chunkSize is about how many bytes of lines are decoded at once: enough
// for every CPU to have some, and little compared to what is kept of them.
const chunkSize = 1 << 20

// chunk holds consecutive lines.
type chunk struct {
	text   []byte
	begins []int    // where each line begins in text, and what follows the last one
	ended  error    // why no lines follow; text then ends with any part of an unfinished line
	trials []*Trial // the trial of each line, if decode can decode it
}

// fill reads the next lines.
func (c *chunk) fill(br *bufio.Reader) {
	c.text, c.begins, c.ended = c.text[:0], append(c.begins[:0], 0), nil
	for c.ended == nil && len(c.text) < chunkSize {
		if c.ended = c.readLine(br); c.ended == nil {
			c.begins = append(c.begins, len(c.text))
		}
	}
}

// readLine adds a line with its newline, or the rest of the input and io.EOF.
func (c *chunk) readLine(br *bufio.Reader) error {
	begin := len(c.text)
	for {
		part, err := br.ReadSlice('\n')
		c.text = append(c.text, part...)
		if len(c.text)-begin > maxLine {
			return fmt.Errorf("longer than %d bytes: %w", maxLine, ErrNotRunFile)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// line returns a line with its newline.
func (c *chunk) line(i int) []byte { return c.text[c.begins[i]:c.begins[i+1]] }

// lines returns how many lines there are.
func (c *chunk) lines() int { return len(c.begins) - 1 }

// decode decodes valid trials on all CPUs. All other lines, which are
// few, are left to File.add, which reports what is wrong with them.
func (c *chunk) decode(trial func(line []byte) *Trial, brief func(*Trial)) {
	c.trials = make([]*Trial, c.lines())
	OnAllCPUs(c.lines(), func(i int) {
		if !bytes.HasPrefix(c.line(i), trialPrefix) {
			return
		}
		if t := trial(c.line(i)); t != nil && t.Type == TypeTrial && t.Check() == nil {
			brief(t)
			c.trials[i] = t
		}
	})
}

// figures reads trials for reports, which need the measured figures but not all of the counters.
type figures struct {
	finish    func(*Trial)
	cells     pool[Cell]
	endpoints pool[[]Endpoint]
	texts     texts
}

// figuresLine is a trial with the fields that have their own decoding.
type figuresLine struct {
	*Trial
	SchemaVersion int              `json:"schema_version"`
	Cell          part[Cell]       `json:"cell"`
	Endpoints     part[[]Endpoint] `json:"endpoints"`
	Counters      checked          `json:"counters"`
}

// trial decodes a trial, or returns nil if it cannot.
func (f *figures) trial(line []byte) *Trial {
	t := &Trial{}
	l := figuresLine{Trial: t, Cell: part[Cell]{from: &f.cells}, Endpoints: part[[]Endpoint]{from: &f.endpoints}}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	t.Cell, t.Endpoints = l.Cell.value, l.Endpoints.value
	return t
}

// brief reduces a trial to what reports need.
func (f *figures) brief(t *Trial) {
	t.Counters = nil
	f.texts.share(t)
	if f.finish != nil {
		f.finish(t)
	}
}

// pool keeps the values of parts of lines, so that equal parts are decoded
// and held once: a run has few cells and endpoints, and many trials.
type pool[T any] struct {
	sync.Mutex
	known map[[sha256.Size]byte]T // by the text
}

// part is a field of a line with its value in a pool.
type part[T any] struct {
	from  *pool[T]
	value T
	given bool
}

// UnmarshalJSON finds the value in the pool, or decodes it.
func (p *part[T]) UnmarshalJSON(text []byte) error {
	if p.given {
		return errors.New("duplicate key")
	}
	p.given = true
	key := sha256.Sum256(text)
	p.from.Lock()
	defer p.from.Unlock()
	value, known := p.from.known[key]
	if known {
		p.value = value
		return nil
	}
	if err := json.Unmarshal(text, &p.value); err != nil {
		return err
	}
	if p.from.known == nil {
		p.from.known = map[[sha256.Size]byte]T{}
	}
	p.from.known[key] = p.value
	return nil
}

// checked is an object of counters that is checked but not kept.
type checked struct{}

// UnmarshalJSON accepts objects whose values are whole numbers of at most 18 digits,
// which are within bounds. Matching brackets and quotes were checked before.
func (checked) UnmarshalJSON(object []byte) error {
	odd := errors.New("not an object of counters")
	if object[0] != '{' {
		return odd
	}
	before, inText, digits := byte('{'), false, 0
	for i := 1; i < len(object); i++ {
		c := object[i]
		switch {
		case inText && c == '\\':
			i++
		case c == '"' && (inText || before != ':'): // of a key
			inText = !inText
		case inText:
		case c == ',' || c == ':' || c == '}':
			before, digits = c, 0
		case '0' <= c && c <= '9' && digits < 18:
			digits++
		default:
			return odd
		}
	}
	return nil
}

// texts holds names that occur in many trials, each once.
type texts struct {
	sync.Mutex
	known map[string]string
}

// share makes a trial use the shared texts. Its cell and its endpoints are shared as a whole.
func (s *texts) share(t *Trial) {
	s.Lock()
	defer s.Unlock()
	if s.known == nil {
		s.known = map[string]string{}
	}
	t.Type = TypeTrial
	for _, part := range []any{&t.Status, &t.Reason, &t.Remedy, t.Flows, t.Path, t.Warnings, t.CPU} {
		s.within(reflect.ValueOf(part))
	}
	if t.Metrics == nil {
		return
	}
	metrics := make(map[string]Metric, len(t.Metrics))
	for name, m := range t.Metrics {
		metrics[s.one(name)] = Metric{m.Value, s.one(m.Unit)}
	}
	t.Metrics = metrics
}

// within shares all texts in a value.
func (s *texts) within(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.one(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			s.within(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.within(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			s.within(v.Field(i))
		}
	}
}

func (s *texts) one(text string) string {
	known, ok := s.known[text]
	if !ok {
		s.known[text], known = text, text
	}
	return known
}
