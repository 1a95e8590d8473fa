package report

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"io"
	"iter"
	"maps"
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

// pageView is the data of the page's templates.
type pageView struct {
	document
	Style    template.CSS
	Script   template.JS
	Title    string // of the window
	Note     string
	Run      string
	File     string
	Where    string         // the machine, in one line
	Paths    []topologyView // of networks that only sweeps contain
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

// writeHTML writes one self-contained page.
func writeHTML(w io.Writer, d document, o Options) error {
	res := d.res
	page := template.Must(template.New("").Funcs(template.FuncMap{"flags": flags, "trim": strings.TrimSpace}).ParseFS(pageTemplates, "html/*.tmpl"))
	v := pageView{
		document: d, Style: template.CSS(pageStyle), Script: template.JS(sortScript + saveScript),
		Title: pageTitle(res, o.File), Note: res.Run.Note, Run: wasRun(res), File: o.File, Where: machineCalled(res),
		Paths: sweptPaths(res), Machine: machineFacts(res), Rounds: rounds(res), Ending: ending(res), Method: method(res), Trials: newTrialsView(o.Trials),
	}
	views := d.views()
	v.Groups, v.Sections = views[:len(d.Groups)], views[len(d.Groups):]
	b := bufio.NewWriterSize(w, 1<<16)
	if err := page.ExecuteTemplate(seenWriter{b}, "page.tmpl", v); err != nil {
		return err
	}
	return b.Flush()
}

// views draws the charts of all sections, those of groups first.
func (d document) views() (all []sectionView) {
	files := map[string]int{}
	for _, s := range slices.Concat(d.Groups, d.Sections) {
		v := sectionView{section: s, Charts: s.drawn(d.res, s.figures, files)}
		if s.group != nil {
			v.Rounds = s.drawn(d.res, s.group.overRounds, files)
		}
		all = append(all, v)
	}
	return all
}

// drawn draws some charts of a section. Their files are named after its title, each by a name of its own.
func (s *section) drawn(res analysis.Result, figures func() []figure, files map[string]int) (d drawing) {
	if figures == nil {
		return d
	}
	d.Figures = figures()
	for i, f := range d.Figures {
		d.Figures[i].File = chartName(s.Title, f.Title, files)
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
		add(&parts, len(g.Facts()) > 0, g.ID+"-ends", "endpoints")
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
	add(&all, len(doubts) > 0, "findings", "Caveats", doubts...)
	add(&all, true, "method", "How to read this")
	add(&all, true, "machine", "Where it was measured")
	add(&all, v.Trials.Rows != nil, "trials", "Every trial")
	return all
}

// resultCell is a cell of results on a page.
type resultCell struct {
	cell
	Compared bool
	Place    string // for sorting by the change; empty if that is untested
	Span     int    // columns filled by an absence
}

// Results returns the cells of a line of results. Adjacent cells without figures, for the same reason, are merged.
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
				out.Place = sortKey(c.against.Factor())
			}
		case l.Native && out.Compared && c.Class != absent:
			out.Place = sortKey(1) // no change
		}
		all = append(all, out)
	}
	return all
}

// At returns the column of the page's table that has the values of a column of results:
// names and the changes of earlier columns have their own columns.
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

// Beside returns the column of the page's table that has the changes.
func (t table) Beside(column int) int { return t.At(column) + 1 }

// Sorts reports whether a page can sort the lines.
func (t table) Sorts() bool {
	return len(t.Stub) == 1 && slices.ContainsFunc(t.Lines, func(l tableLine) bool {
		return slices.ContainsFunc(l.Cells, func(c cell) bool { return c.Key != "" })
	})
}

// Second reports whether the line belongs to the line above.
func (l tableLine) Second() bool {
	return len(l.Names) == 0 || l.Names[0] == "" || strings.HasPrefix(l.Names[0], " ")
}

// sortKey formats a value for sorting rows.
func sortKey(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }

func hint(k record.Kind) string { return k.Better.String() + " is better" }

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// flags keeps command-line flags on one line: browsers would break them at every dash.
func flags(text string) template.HTML {
	return template.HTML(flagName.ReplaceAllString(template.HTMLEscapeString(text), `<span class="flag">$0</span>`))
}

// method explains in a few sentences how the figures were obtained.
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
	measures := "Every round measures each network and " + word + " once, in random order."
	if res.Limits.Turns {
		measures = "Every round rebuilds the networks. Those whose traffic can pause take turns of about a tenth of a second, in random order and then in reverse, and " + word +
			" has several turns among them; every other network has one whole trial per round, in random order."
	}
	all := phrases{
		measures + " A network is compared with " + word + " in the same round, since machines drift more than networks differ.",
		"Bytes are counted where they arrive, after a warm-up and within the window common to all flows.",
		"A figure in a table, including a percentile, is an estimate over the figures of the trials: their pseudo-median, with its interval. Charts of latency by percentile show the latencies of all trials merged.",
		"A trial counts only when the counters of every device, rule and process on the intended path show that the payload crossed it.",
		"CPU cost covers the whole machine, kernel and daemons included, less what the machine uses when idle. For a stream that keeps a CPU busy it only repeats the throughput; sentences give it only where a network keeps more or fewer CPUs busy than " + word + ".",
	}
	all.add(knowsShared(res), "CPU time that the kernel charges to a process counts for clients, servers or daemons, on their own host. The rest, above what the idle machine uses, is shared: packets that the kernel handles on behalf of no process, which in a lab cannot be attributed to a host, and the measuring itself.")
	all.some(append(remarks(res), legend(res, false), multiplicity(res), boldRemark)...)
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

// machineCalled describes the machine of a run in one line, or those that were measured, after the name that its user gave it.
func machineCalled(res analysis.Result) string {
	text := capital(strings.Join(record.Each(machines(res), machine), "; "))
	if res.Run.Instance != "" {
		text = res.Run.Instance + ": " + text
	}
	return text
}

func machineFacts(res analysis.Result) []fact {
	facts := []fact{{"Machine", ranOn(res)}, {"Run", wasRun(res)}}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// seenWriter passes on text with invisible characters replaced, since names could otherwise reverse the text
// around them. Templates write each text and each value as a whole, so that no character is in pieces.
type seenWriter struct{ to io.Writer }

func (s seenWriter) Write(text []byte) (int, error) {
	_, err := s.to.Write(bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return seen(r)
	}, text))
	return len(text), err
}

// endpointView is one end of a network; differences from native are marked.
type endpointView struct {
	Network, Role, Name  string
	Device, Address      string
	MTU, Qdisc, CPUs     marked
	Offloads, Parameters []marked
	// What all offloads, or parameters, are the same as, and left out for: the baseline's, or those of its first end. Otherwise empty.
	OffloadsAs, ParametersAs string
}

// marked is a value next to the baseline's. If either of them is not known, it neither differs nor is the same.
type marked struct {
	Text          string
	Differs, Same bool
	Off           bool
}

// Facts compares the ends of every network with native's.
func (s *section) Facts() (all []endpointView) {
	g := s.group
	inUse := func(l line) []string { return congestions(l.planned(), func(record.Flow) bool { return true }) }
	for _, l := range g.lines {
		var base []record.Endpoint
		used := inUse(l)
		baseUsed := used
		if n, ok := g.nativeOf(l); ok {
			base, baseUsed = endpoints(n), inUse(n)
		}
		seen := map[string]int{} // ends of a role: each is compared with that in its place
		first := len(all)
		for i, e := range endpoints(l) {
			b, alike := e, record.Those(base, func(n record.Endpoint) bool { return n.Role == e.Role })
			found := len(alike) > 0
			if found {
				b = alike[min(seen[e.Role], len(alike)-1)]
			}
			seen[e.Role]++
			v := newEndpoint(l.name, e, b, used, baseUsed)
			switch {
			case !l.native && found:
				v.onlyDifferent(s.Word)
			case l.native && i > 0:
				v.unlike(all[first])
			}
			all = append(all, v)
		}
	}
	return all
}

// onlyDifferent removes offloads and parameters that are the same as the baseline's.
func (v *endpointView) onlyDifferent(baseline string) {
	reduced := func(all []marked) (left []marked, as string) {
		left = record.Those(all, func(m marked) bool { return !m.Same })
		if len(all) > 0 && len(left) == 0 {
			as = baseline
		}
		return left, as
	}
	v.Offloads, v.OffloadsAs = reduced(v.Offloads)
	v.Parameters, v.ParametersAs = reduced(v.Parameters)
}

// unlike removes offloads, or parameters, if all are the same as those of the network's first end.
func (v *endpointView) unlike(first endpointView) {
	reduced := func(all, those []marked) ([]marked, string) {
		if len(all) == 0 || !slices.Equal(all, those) {
			return all, ""
		}
		return nil, first.Role
	}
	v.Offloads, v.OffloadsAs = reduced(v.Offloads, first.Offloads)
	v.Parameters, v.ParametersAs = reduced(v.Parameters, first.Parameters)
}

func endpoints(l line) []record.Endpoint {
	for _, row := range l.planned() {
		if len(row.Endpoints) > 0 {
			return row.Endpoints
		}
	}
	return nil
}

// newEndpoint compares one end with the baseline's. For congestion control it shows what was
// in use, if known: the parameter is only the machine's default, and is called that.
func newEndpoint(network string, e, base record.Endpoint, used, baseUsed []string) endpointView {
	v := endpointView{
		Network: network, Role: e.Role, Name: e.Name, Device: e.Device, Address: e.Address,
		MTU:   marked{Text: strconv.Itoa(e.IPMTU()), Differs: e.IPMTU() != base.IPMTU()},
		Qdisc: marked{Text: e.Qdisc, Differs: e.Qdisc != base.Qdisc},
		CPUs:  marked{Text: cmp.Or(numbers(e.CPUs), "any"), Differs: !slices.Equal(e.CPUs, base.CPUs)},
	}
	if e.Driver != "" && e.Driver != e.Device {
		v.Device += " (" + e.Driver + ")"
	}
	for _, name := range slices.Sorted(maps.Keys(e.Offloads)) {
		was, known := base.Offloads[name]
		v.Offloads = append(v.Offloads, marked{Text: name, Off: !e.Offloads[name], Differs: known && was != e.Offloads[name], Same: known && was == e.Offloads[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Sysctls)) {
		was, known := base.Sysctls[name]
		short := name[strings.LastIndexByte(name, '.')+1:]
		text, alike := short+" "+e.Sysctls[name], was == e.Sysctls[name]
		if short == "tcp_congestion_control" {
			alike = alike && (len(used) == 0 || len(baseUsed) == 0 || slices.Equal(used, baseUsed))
			text = "the machine's default congestion control: " + e.Sysctls[name]
			if len(used) > 0 {
				text = "congestion control in use: " + join(used)
			}
			if len(used) > 1 || len(used) == 1 && used[0] != e.Sysctls[name] {
				text += " (the machine's default is " + e.Sysctls[name] + ")"
			}
		}
		v.Parameters = append(v.Parameters, marked{Text: text, Differs: known && !alike, Same: known && alike})
	}
	return v
}

// trialsView is the table of every trial.
type trialsView struct {
	Parts   bool          // networks were cut into parts, so that some rounds have several trials of a baseline
	Varied  []trialColumn // properties in which the trials' cells differ on purpose
	Columns []trialColumn
	Rows    iter.Seq[trialRow] // made one by one, since there may be thousands; nil if there are none
}

type trialColumn struct {
	Title, Unit string
	Number      bool
}

type trialRow struct {
	Round, Order      int
	Part              string // of the round; empty if it has none
	Network, Workload string
	Where             string
	Status            string
	Varied            []trialValue
	Values            []trialValue
	Elapsed           string
	Remark            string
}

// trialValue carries the exact value, for sorting.
type trialValue struct{ Text, Exact string }

func newTrialsView(trials []record.Trial) trialsView {
	var v trialsView
	kinds := kindsOf(trials)
	var scales []scale
	for _, k := range kinds {
		s := scaleFor(k, firstValue(trials, k))
		scales = append(scales, s)
		v.Columns = append(v.Columns, trialColumn{k.Title, s.unit, true})
	}
	v.Parts = slices.ContainsFunc(trials, func(t record.Trial) bool { return t.Part > 1 })
	varied := variedIn(trials)
	for _, f := range varied {
		_, number := f.Number(record.Cell{})
		v.Varied = append(v.Varied, trialColumn{Title: f.Name, Number: number})
	}
	row := func(t record.Trial) trialRow {
		r := trialRow{
			Round: t.Round, Order: t.Order, Network: networkName(t.Cell), Workload: t.Cell.Workload, Where: place(t.Cell),
			Status: string(t.Status), Elapsed: strconv.FormatFloat(t.Elapsed, 'f', 1, 64), Remark: remark(t),
			Varied: record.Each(varied, func(f record.Dimension) trialValue { return trialValue{Text: f.Text(t.Cell)} }),
		}
		if t.Part > 0 {
			r.Part = strconv.Itoa(t.Part)
		}
		for i, k := range kinds {
			value := trialValue{}
			if v, ok := analysis.ValueOf(&t, k); ok {
				value = trialValue{scales[i].number(v), exact(v)}
			}
			r.Values = append(r.Values, value)
		}
		return r
	}
	if len(trials) > 0 {
		v.Rows = func(yield func(trialRow) bool) {
			for _, t := range trials {
				if !yield(row(t)) {
					return
				}
			}
		}
	}
	return v
}

// variedIn returns the dimensions that differ between trials and that the table does not show elsewhere.
func variedIn(trials []record.Trial) []record.Dimension {
	shown := []string{"network", "hosts", "family", "workload", "placement", "twin"}
	// Requests and bulk transfers have different options anyway; only a difference within a
	// workload was made on purpose.
	return slices.DeleteFunc(record.Dimensions(), func(d record.Dimension) bool {
		if slices.Contains(shown, d.Name) {
			return true
		}
		first := map[string]string{}
		for _, t := range trials {
			v := d.Text(t.Cell)
			if was, seen := first[t.Cell.Workload]; seen && was != v {
				return false
			}
			first[t.Cell.Workload] = v
		}
		return true
	})
}

// kindsOf lists the metrics that any of the trials has.
func kindsOf(trials []record.Trial) []record.Kind {
	return slices.DeleteFunc(record.Kinds(), func(k record.Kind) bool {
		return !slices.ContainsFunc(trials, func(t record.Trial) bool { _, ok := analysis.ValueOf(&t, k); return ok })
	})
}

// firstValue returns the value that determines the unit of a column.
func firstValue(trials []record.Trial, k record.Kind) float64 {
	for _, t := range trials {
		if v, ok := analysis.ValueOf(&t, k); ok && v != 0 {
			return v
		}
	}
	return 0
}

func place(c record.Cell) string {
	where := phrases{countOf(c.Hosts, "host"), "IPv" + strconv.Itoa(c.Family)}
	where.some(c.Placement, optionsText(c.Options))
	return join(where)
}

func remark(t record.Trial) string {
	var parts phrases
	parts.some(t.Reason)
	parts.some(record.Each(t.Warnings, func(w record.Warning) string { return w.Text })...)
	return strings.Join(parts, "; ")
}
