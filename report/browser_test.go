package report

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	browsed "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
)

// browserTime bounds the start of the browser, and all of its work.
const browserTime = 5 * time.Minute

// browser starts Chromium, or skips the test. If NETTOLL_REQUIRE names "browser", its absence is a failure.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if strings.Contains(os.Getenv("NETTOLL_REQUIRE"), "browser") {
			t.Fatal("no Chromium on PATH")
		}
		t.Skip("no Chromium on PATH")
	}
	// It leaves a folder in TMPDIR when it is killed. Sockets in it may have paths of 107 bytes, so t.TempDir is too long.
	temporary, err := os.MkdirTemp("", "browser-")
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, os.RemoveAll(temporary)) })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Env("TMPDIR="+temporary), chromedp.WSURLReadTimeout(browserTime),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(allocated)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	t.Cleanup(cancel)
	return ctx
}

// servePage serves one page at a local address.
func servePage(t *testing.T, page string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	iferr.Fatal(t, chromedp.Do(ctx, steps...))
}

func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	})
}

func TestBrowser(t *testing.T) {
	ctx := browser(t)
	res, o := specimenResult()
	url := servePage(t, write(t, "html", res, o))
	console := chromedp.Console(ctx)
	for _, screen := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}, {"small phone", 360, 640}} {
		do(t, ctx, chromedp.EmulateViewport(screen.width, screen.height), chromedp.Navigate(url))
		size := evaluate[[]int64](t, ctx, "[document.documentElement.scrollWidth, innerWidth]")
		if size[0] > size[1] || size[1] != screen.width {
			t.Errorf("%s: page is %d wide, window %d, screen %d", screen.name, size[0], size[1], screen.width)
		}
	}
	checkSaving(t, ctx)
	checkSorting(t, ctx)
	checkSortingResults(t, ctx)
	checkFilter(t, ctx, len(o.Trials))
	checkDark(t, ctx)

	const last = "nothing after this"
	evaluate[bool](t, ctx, `console.log("`+last+`"), true`)
	for message, err := range console {
		iferr.Fatal(t, err)
		if strings.Contains(message.String(), last) {
			break
		}
		t.Errorf("the page complained: %s", message)
	}
}

// checkSaving saves a chart in both formats and checks the files.
func checkSaving(t *testing.T, ctx context.Context) {
	t.Helper()
	buttons := evaluate[int](t, ctx, `document.querySelectorAll("figure.curves .save button").length`)
	evaluate[bool](t, ctx, `window.saved = [], HTMLAnchorElement.prototype.click = function () {
		const name = this.download;
		fetch(this.href).then((r) => name.endsWith(".svg") ? r.text() : r.blob().then((b) => createImageBitmap(b)).then((i) => i.width + "x" + i.height))
			.then((what) => saved.push([name, what]));
	}, document.querySelectorAll("figure.curves .save button").forEach((b) => b.click()), true`)
	var saved [][]string
	for deadline := time.Now().Add(browserTime / 2); len(saved) < buttons && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		saved = evaluate[[][]string](t, ctx, "saved")
	}
	if len(saved) != buttons || buttons < 2 {
		t.Fatalf("%d files were saved by %d buttons", len(saved), buttons)
	}
	for _, file := range saved {
		name, content := file[0], file[1]
		switch {
		case strings.HasSuffix(name, ".svg"):
			if strings.Contains(content, "var(") || !strings.Contains(content, `xmlns="http://www.w3.org/2000/svg"`) || !strings.Contains(content, ">macvlan<") {
				t.Errorf("%s is not complete: %.300s", name, content)
			}
		case strings.HasPrefix(content, "0x") || !strings.Contains(content, "x"):
			t.Errorf("%s is a picture of %s", name, content)
		}
	}
}

// TestBrowserMatrices looks for parts that are too wide for a screen, on pages with sweeps and published tables.
func TestBrowserMatrices(t *testing.T) {
	ctx := browser(t)
	pages := maps.Clone(matrices())
	f := loadsFile()
	pages["loads"] = analyzed{analysis.Analyze(f), Options{Trials: f.Trials}}
	for name, of := range pages {
		url := servePage(t, write(t, "html", of.res, of.o))
		for _, width := range []int64{1280, 390, 360} {
			do(t, ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url))
			evaluate[bool](t, ctx, `document.querySelectorAll("details").forEach((d) => { d.open = true; }), true`)
			if got := evaluate[int64](t, ctx, "document.documentElement.scrollWidth"); got > width {
				t.Errorf("%s: page is %d wide on a screen of %d", name, got, width)
			}
			overlaps := evaluate[[]string](t, ctx, overlappingTexts)
			if len(overlaps) > 0 {
				t.Errorf("%s at %d: texts of charts overlap: %q", name, width, overlaps)
			}
		}
	}
}

// TestBrowserSortsSweeps sorts the table of a sweep: a network's comparison with native stays below it.
func TestBrowserSortsSweeps(t *testing.T) {
	ctx := browser(t)
	f := loadsFile()
	do(t, ctx, chromedp.Navigate(servePage(t, write(t, "html", analysis.Analyze(f), Options{Trials: f.Trials}))))
	const table = `document.querySelector("table.sheet.sortable")`
	names := func() string {
		return strings.Join(evaluate[[]string](t, ctx, `Array.from(`+table+`.tBodies[0].rows, r => r.cells[0].firstChild.textContent)`), ", ")
	}
	const up, down = "host, bridge, vs native, published, vs native", "published, vs native, bridge, vs native, host"
	for _, want := range []string{up, up, down, up} { // initially, then after one click, two and three
		if got := names(); got != want {
			t.Errorf("the rows are %s, want %s", got, want)
		}
		evaluate[bool](t, ctx, table+`.tHead.rows[0].lastElementChild.querySelector("button").click(), true`)
	}
}

// TestBrowserPrints checks that a printed page leaves out only the parts that are useless on paper.
func TestBrowserPrints(t *testing.T) {
	ctx := browser(t)
	res, o := specimenResult()
	const paper = 703 // pixels between margins of 12 mm on A4
	do(t, ctx, chromedp.EmulateViewport(paper, 1000), chromedp.Navigate(servePage(t, write(t, "html", res, o))),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
			return err
		}))
	evaluate[bool](t, ctx, `dispatchEvent(new Event("beforeprint")), true`)
	if cut := evaluate[[]string](t, ctx, `Array.from(document.querySelectorAll("main *"))
		.filter((e) => e.getBoundingClientRect().right > `+strconv.Itoa(paper)+` + 1 && !e.closest("svg")).map((e) => e.tagName + " " + e.textContent.slice(0, 40))`); len(cut) > 0 {
		t.Errorf("sticks out of the paper: %q", cut)
	}
	if height := evaluate[float64](t, ctx, `document.querySelector(".every").getBoundingClientRect().height`); height > 0 {
		t.Error("every trial is printed")
	}
	var pdf []byte
	do(t, ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		css := true
		got, err := cdp.Call(ctx, target, browsed.PrintToPDF, browsed.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69, PreferCSSPageSize: &css})
		if err == nil {
			pdf = got.Data
		}
		return err
	}))
	const most = 10
	if pages := len(regexp.MustCompile(`/Type /Page\b`).FindAll(pdf, -1)); pages < 3 || pages > most {
		t.Errorf("%d pages are printed of %d bytes, want at most %d", pages, len(pdf), most)
	}
}

// overlappingTexts lists pairs of overlapping texts in one chart, and texts outside of their chart.
const overlappingTexts = `Array.from(document.querySelectorAll("figure > svg")).flatMap((svg) => {
	const frame = svg.getBoundingClientRect();
	const all = Array.from(svg.querySelectorAll("text"), (t) => [t.textContent, t.getBoundingClientRect()]);
	const found = [];
	all.forEach(([text, a], i) => {
		if (a.left < frame.left - 2 || a.right > frame.right + 2) found.push(text + " sticks out");
		all.slice(0, i).forEach(([other, b]) => {
			const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
			const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
			if (wide > 1 && tall > a.height / 3) found.push(text + " on " + other);
		});
	});
	return found;
})`

func checkSorting(t *testing.T, ctx context.Context) {
	t.Helper()
	const column = `Array.from(document.querySelectorAll("#trial-table tbody tr"), r => r.cells[4].dataset.value).filter(Boolean).map(Number)`
	const heading = `#trial-table thead th:nth-child(5)`
	click := chromedp.Click(chromedp.CSS(heading + " button"))
	before := evaluate[[]float64](t, ctx, column)
	do(t, ctx, click)
	up := evaluate[[]float64](t, ctx, column)
	do(t, ctx, click)
	down := evaluate[[]float64](t, ctx, column)
	if len(before) == 0 || slices.IsSorted(before) {
		t.Fatal("the specimen is sorted already")
	}
	slices.Reverse(down)
	if !slices.IsSorted(up) || !slices.IsSorted(down) || len(up) != len(before) {
		t.Errorf("clicking did not sort: up %v, down reversed %v", up, down)
	}
	if sorted := evaluate[string](t, ctx, `document.querySelector("`+heading+`").getAttribute("aria-sort")`); sorted != "descending" {
		t.Errorf("aria-sort is %q", sorted)
	}
}

// checkSortingResults sorts the results of the first scenarios, where one network was skipped,
// by a metric and by its comparison with the baseline, with the mouse and with the keyboard.
func checkSortingResults(t *testing.T, ctx context.Context) {
	t.Helper()
	const results = `document.querySelector("table.results")`
	names := func() string {
		return strings.Join(evaluate[[]string](t, ctx, `Array.from(`+results+`.tBodies[0].rows, r => r.cells[0].firstChild.textContent)`), " ")
	}
	sorts := func(of string) string {
		return evaluate[string](t, ctx, results+`.querySelector("`+of+`").getAttribute("aria-sort") || ""`)
	}
	click := func(of string) { do(t, ctx, chromedp.Click(chromedp.CSS("table.results "+of+" button"))) }
	const throughput, changed = "thead [data-column='1']", "thead [data-column='2']"
	const before = "host veth macvlan bridge published proxy ovs"
	if got := names(); got != before {
		t.Fatalf("the specimen has %s", got)
	}
	for _, step := range []struct {
		press       func()
		of, sort    string
		want, title string
	}{
		{func() { click(throughput) }, throughput, "ascending", "proxy published bridge veth macvlan host ovs", "throughput"},
		{func() { click(throughput) }, throughput, "descending", "host macvlan veth bridge published proxy ovs", "throughput"},
		{func() { click(throughput) }, throughput, "", before, "throughput"},
		{func() { do(t, ctx, chromedp.SendKeys(chromedp.CSS("table.results "+changed+" button"), "\r")) }, changed, "ascending",
			"proxy published bridge veth macvlan host ovs", "the change, with the enter key"},
		{func() { click("thead th:first-child") }, "thead th:first-child", "ascending", "bridge host macvlan ovs proxy published veth", "the name"},
	} {
		step.press()
		if got := names(); got != step.want || sorts(step.of) != step.sort {
			t.Errorf("by %s, %q: %s, want %s; aria-sort is %q", step.title, step.sort, got, step.want, sorts(step.of))
		}
		if n := evaluate[int](t, ctx, results+`.querySelectorAll("[aria-sort]").length`); n > 1 {
			t.Errorf("%d headings have aria-sort", n)
		}
	}
	if first := evaluate[string](t, ctx, `document.querySelectorAll("table.results")[1].tBodies[0].rows[0].cells[0].firstChild.textContent`); first != "native" {
		t.Errorf("another table now begins with %s", first)
	}
}

func checkFilter(t *testing.T, ctx context.Context, trials int) {
	t.Helper()
	const visible = `document.querySelectorAll("#trial-table tbody tr:not([hidden])").length`
	all := evaluate[int](t, ctx, visible)
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#filter"), "vxlan tcp_stream"))
	if some := evaluate[int](t, ctx, visible); all != trials || some != inventedRounds {
		t.Errorf("filter shows %d of %d rows, want %d of %d", some, all, inventedRounds, trials)
	}
}

func checkDark(t *testing.T, ctx context.Context) {
	t.Helper()
	const colors = `[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector("figure svg text")).fill]`
	do(t, ctx, scheme("light"))
	light := evaluate[[]string](t, ctx, colors)
	do(t, ctx, scheme("dark"))
	dark := evaluate[[]string](t, ctx, colors)
	for i, what := range []string{"page", "chart"} {
		if light[i] == dark[i] {
			t.Errorf("%s has the colour %s in light and in dark", what, light[i])
		}
	}
}
