package report

import (
	"cmp"
	"embed"
	"html/template"
	"io"
	"regexp"

	"nettoll/analysis"
	"nettoll/record"
)

//go:embed html
var pageFiles embed.FS

// pageView is what the templates of the page see.
type pageView struct {
	Style    template.CSS
	Script   template.JS
	Title    string // of the window
	Heading  string
	Note     string
	Run      string
	File     string
	Where    string // the machine, in one line
	Contents []entryView
	Grade    string
	Groups   []groupView
	Sections []sectionView
	Paths    []topologyView // of networks that only sweeps show
	Findings []noteGroup
	Machine  []fact
	Rounds   string
	Ending   string
	Method   []string
	Trials   trialsView
}

type fact struct{ Name, Value string }

// writeHTML writes one page that needs nothing but itself.
func writeHTML(w io.Writer, res analysis.Result, o Options) error {
	page, err := template.New("").Funcs(template.FuncMap{"flags": flags}).ParseFS(pageFiles, "html/*.tmpl")
	if err != nil {
		return err
	}
	style, err := pageFiles.ReadFile("html/style.css")
	if err != nil {
		return err
	}
	script, err := pageFiles.ReadFile("html/sort.js")
	if err != nil {
		return err
	}
	save, err := pageFiles.ReadFile("html/save.js")
	if err != nil {
		return err
	}
	v := pageView{
		Style: template.CSS(style), Script: template.JS(script) + template.JS(save),
		Title: pageTitle(res, o.File), Heading: heading(res), Note: res.Run.Note, Run: wasRun(res), File: o.File, Where: machineCalled(res.Run),
		Grade: grade(res), Machine: machineFacts(res), Rounds: rounds(res), Ending: ending(res), Method: method(res),
		Trials: newTrialsView(o.Trials),
	}
	n := newNotes(res)
	looks := newLooks(res)
	for i, g := range titled(apart(res)) {
		gv, err := newGroupView(g, i, looks, n)
		if err != nil {
			return err
		}
		v.Groups = append(v.Groups, gv)
	}
	sections, err := sectionsOf(res, n)
	if err != nil {
		return err
	}
	for i, s := range sections {
		sv, err := newSectionView(s, i, res)
		if err != nil {
			return err
		}
		v.Sections = append(v.Sections, sv)
	}
	v.Paths = sweptPaths(res)
	v.Findings = n.groups(res)
	v.Contents = v.contents()
	s := seenWriter{to: w}
	if err := page.ExecuteTemplate(&s, "page.tmpl", v); err != nil {
		return err
	}
	return s.Flush()
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]*`)

// flags keeps flags of the command line in one piece, which browsers break at every dash.
func flags(text string) template.HTML {
	return template.HTML(flagName.ReplaceAllString(template.HTMLEscapeString(text), `<span class="flag">$0</span>`))
}

// method explains in a few sentences how the figures came about.
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

// knowsShared reports whether any row tells what no process can be charged with.
func knowsShared(res analysis.Result) bool {
	for _, s := range res.Scenarios {
		for _, r := range s.Rows {
			if _, ok := r.Load(analysis.CPUShared); ok {
				return true
			}
		}
	}
	return false
}

// machineCalled is the machine of a run in one line, after the name that its user has for it.
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
