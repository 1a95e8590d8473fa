package report

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

//go:embed html/*.tmpl
var pageTemplates embed.FS

//go:embed html/style.css
var pageStyle string

//go:embed html/sort.js
var sortScript string

//go:embed html/save.js
var saveScript string

// pageView is what the templates of the page see.
type pageView struct {
	document
	Style    template.CSS
	Script   template.JS
	Title    string // of the window
	Note     string
	Run      string
	File     string
	Where    string         // the machine, in one line
	Paths    []topologyView // of networks that only sweeps show
	Machine  []fact
	Rounds   string
	Ending   string
	Method   []string
	Trials   trialsView
	Groups   []sectionView
	Sections []sectionView
}

// sectionView is a section with its charts, and with those over the rounds of the run.
type sectionView struct {
	*section
	Charts, Rounds drawing
}

// drawing is a set of charts with the caption that explains them.
type drawing struct {
	Figures []figure
	Caption string
}

type fact struct{ Name, Value string }

// writeHTML writes one page that needs nothing but itself.
func writeHTML(w io.Writer, d document, o Options) error {
	res := d.res
	page := template.Must(template.New("").Funcs(template.FuncMap{"flags": flags, "trim": strings.TrimSpace}).ParseFS(pageTemplates, "html/*.tmpl"))
	v := pageView{
		document: d, Style: template.CSS(pageStyle), Script: template.JS(sortScript + saveScript),
		Title: pageTitle(res, o.File), Note: res.Run.Note, Run: wasRun(res), File: o.File, Where: machineCalled(res.Run),
		Paths: sweptPaths(res), Machine: machineFacts(res), Rounds: rounds(res), Ending: ending(res), Method: method(res), Trials: newTrialsView(o.Trials),
	}
	for _, s := range d.Groups {
		v.Groups = append(v.Groups, sectionView{s, s.drawn(res, s.figures), s.drawn(res, s.group.overRounds)})
	}
	for _, s := range d.Sections {
		v.Sections = append(v.Sections, sectionView{section: s, Charts: s.drawn(res, s.figures)})
	}
	s := seenWriter{to: w}
	if err := page.ExecuteTemplate(&s, "page.tmpl", v); err != nil {
		return err
	}
	return s.Flush()
}

// drawn draws some charts of a section. Their files are named by its title.
func (s *section) drawn(res analysis.Result, figures func() []figure) (d drawing) {
	if figures == nil {
		return d
	}
	d.Figures = figures()
	for i, f := range d.Figures {
		d.Figures[i].File = fileName(s.Title + " " + f.Title)
	}
	d.Caption = caption(d.Figures, s.Word, res.Level, res.Margin)
	return d
}

// entry is a line of the table of contents, with the parts below it.
type entry struct {
	ID, Title string
	Parts     []entry
}

// Contents lists the parts of a page in its order.
func (v pageView) Contents() []entry {
	var all []entry
	add := func(to *[]entry, shown bool, id, title string, parts ...entry) {
		if shown {
			*to = append(*to, entry{id, title, parts})
		}
	}
	for _, g := range v.Groups {
		var parts []entry
		add(&parts, len(g.Missing) > 0, g.ID+"-missing", "what is missing")
		add(&parts, len(g.Charts.Figures) > 0, g.ID+"-charts", "charts")
		add(&parts, len(g.Rounds.Figures) > 0, g.ID+"-rounds", "round by round")
		add(&parts, len(g.Paths()) > 0, g.ID+"-paths", "paths")
		add(&parts, len(g.Facts()) > 0, g.ID+"-ends", "ends")
		add(&all, true, g.ID, g.Title, parts...)
	}
	for _, s := range v.Sections {
		add(&all, true, s.ID, s.Title)
	}
	var doubts []entry
	for _, g := range v.Findings {
		add(&doubts, true, g.ID, lower(g.Title))
	}
	add(&all, len(v.Paths) > 0, "paths", "The path of each network")
	add(&all, len(doubts) > 0, "findings", "What to doubt", doubts...)
	add(&all, true, "method", "How to read this")
	add(&all, true, "machine", "Where it was measured")
	add(&all, v.Trials.Rows != nil, "trials", "Every trial")
	return all
}

// resultCell is a cell of results on a page.
type resultCell struct {
	cell
	Compared bool
	Place    string // for sorting by the change; empty where that is untested
	Claimed  bool   // it holds among all primary comparisons
	Span     int    // columns that an absence fills
}

// Results are the cells of a line of results. Neighbours without figures, for the same reason, are one cell.
func (t table) Results(l tableLine) (all []resultCell) {
	for i, c := range l.Cells {
		out := resultCell{cell: c, Compared: t.Columns[i].Baseline != "", Span: 1}
		if out.Compared {
			out.Span = 2
		}
		if last := len(all) - 1; c.Class == absent && last >= 0 && all[last].Class == absent && all[last].Value == c.Value {
			all[last].Span += out.Span
			continue
		}
		switch {
		case c.against != nil:
			out.Class, out.Claimed = classOf(*c.against), claimed(*c.against)
			if c.against.Outcome != analysis.Untested {
				out.Place = sortKey(c.against.Value)
			}
		case l.Native && out.Compared && c.Class != absent:
			out.Place = sortKey(t.noChange(i))
		}
		all = append(all, out)
	}
	return all
}

// noChange is the baseline's own place when lines are sorted by change: a ratio of 1, or a difference of 0.
func (t table) noChange(column int) float64 {
	for _, l := range t.Lines {
		if c := l.Cells[column].against; c != nil && c.Minus {
			return 0
		}
	}
	return 1
}

// At is the column of the page's table that has the values of a column of results: names and the changes of
// earlier columns have columns of their own.
func (t table) At(column int) int {
	at := 1
	for _, c := range t.Columns[:column] {
		at++
		if c.Baseline != "" {
			at++
		}
	}
	return at
}

// Beside is the column of the page's table that has the changes.
func (t table) Beside(column int) int { return t.At(column) + 1 }

// Sorts reports whether a page can sort the lines.
func (t table) Sorts() bool {
	return len(t.Stub) == 1 && slices.ContainsFunc(t.Lines, func(l tableLine) bool {
		return slices.ContainsFunc(l.Cells, func(c cell) bool { return c.Key != "" })
	})
}

// Once are the cells of a line as a page shows them.
func (l tableLine) Once() []cell { return l.once() }

// Second reports whether the line belongs to the one above.
func (l tableLine) Second() bool {
	return len(l.Names) == 0 || l.Names[0] == "" || strings.HasPrefix(l.Names[0], " ")
}

// sortKey is a value that rows are sorted by.
func sortKey(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }

func hint(k record.Kind) string { return k.Better.String() + " is better" }

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// flags keeps command-line flags on one line: browsers would break them at every dash.
func flags(text string) template.HTML {
	return template.HTML(flagName.ReplaceAllString(template.HTMLEscapeString(text), `<span class="flag">$0</span>`))
}

// method explains in a few sentences how the figures were made.
func method(res analysis.Result) []string {
	word := ""
	for _, s := range res.Scenarios {
		switch name := analysis.BaselineName(s.Cell); word {
		case "", name:
			word = name
		default:
			word = "baseline"
		}
	}
	word = cmp.Or(word, "native")
	measures := "Every round measures each network once, in random order, and " + word + " with them."
	if res.Limits.Turns {
		measures = "Every round builds the networks anew. Those whose traffic can rest take turns of some hundredths of a second, in random order and then backwards, and " + word +
			" has several turns among them; any other network has one whole trial a round, in random order."
	}
	all := []string{
		measures + " A network is compared with " + word + " of its own round, since machines drift more than networks differ.",
		"Bytes are counted where they arrive, after a warm-up and within the window common to all flows.",
		"A figure of a table, a percentile too, is an estimate over the trials' own figures: their pseudo-median, with its interval. Charts of latency by percentile draw the latencies of all trials merged.",
		"A trial counts only when the counters of every device, rule and process on the intended path show that the payload crossed it.",
		"CPU cost is that of the whole machine, kernel and daemons included, less what the machine uses when idle. That of a stream that keeps a CPU busy is its throughput once more; sentences name it only where a network keeps more or fewer CPUs busy than " + word + ".",
	}
	if knowsShared(res) {
		all = append(all, "CPU time that the kernel charges to a process is that of clients, servers or daemons, on the host that they are on. What is left over the idle machine is shared: packets that the kernel handles on behalf of nobody, which in a lab cannot be told apart by host, and the measuring itself.")
	}
	if anyLoops(res) {
		all = append(all, loopRemark)
	}
	for _, text := range []string{legend(res), multiplicity(res), boldRemark} {
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// knowsShared reports whether any row has CPU time that is charged to no process.
func knowsShared(res analysis.Result) bool {
	for _, r := range res.Rows() {
		if _, ok := r.Load(analysis.CPUShared); ok {
			return true
		}
	}
	return false
}

// machineCalled is the machine of a run in one line, after the name that its user gave it.
func machineCalled(run record.Run) string {
	text := capital(machine(run.Machine))
	if run.Instance != "" {
		text = run.Instance + ": " + text
	}
	return text
}

func machineFacts(res analysis.Result) []fact {
	m := res.Run.Machine
	facts := []fact{{"Machine", ranOn(res)}}
	for _, f := range []fact{{"Run", wasRun(res)}, {"Features", join(m.Features)}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// seenWriter passes on what is written to it, line by line, with invisible characters replaced, since names could
// otherwise reverse the text around them. A page of thousands of trials is never held in memory as a whole.
type seenWriter struct {
	to   io.Writer
	held []byte
}

// seenAtOnce is the number of bytes that are held before they are passed on.
const seenAtOnce = 1 << 16

func (s *seenWriter) Write(text []byte) (int, error) {
	s.held = append(s.held, text...)
	if len(s.held) < seenAtOnce {
		return len(text), nil
	}
	return len(text), s.pass(bytes.LastIndexByte(s.held, '\n') + 1)
}

// Flush passes on what is held.
func (s *seenWriter) Flush() error { return s.pass(len(s.held)) }

func (s *seenWriter) pass(n int) error {
	_, err := s.to.Write(bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return seen(r)
	}, s.held[:n]))
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}
