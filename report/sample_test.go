package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	browsed "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// sampled is the folder of the run whose reports the README shows.
const sampled = "../docs/sample"

func sampleRun(t *testing.T) (analysis.Result, Options) {
	t.Helper()
	packed, err := os.Open(filepath.Join(sampled, "quick.ndjson.gz"))
	iferr.Fatal(t, err)
	defer packed.Close()
	lines, err := gzip.NewReader(packed)
	iferr.Fatal(t, err)
	text, err := io.ReadAll(lines)
	iferr.Fatal(t, err)
	f, err := record.Read(bytes.NewReader(text))
	iferr.Fatal(t, err)
	return analysis.Analyze(f), Options{File: "quick.ndjson", Trials: f.Trials}
}

// TestReadmePrintsWhatTheProgramDoes compares the lines quoted in the README with those of a
// terminal of 96 columns.
func TestReadmePrintsWhatTheProgramDoes(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	iferr.Fatal(t, err)
	_, quoted, _ := strings.Cut(string(readme), "```\nAll ")
	quoted, _, found := strings.Cut("All "+quoted, "\n```")
	if !found {
		t.Fatal("the README quotes no report")
	}
	res, o := sampleRun(t)
	o.Width = 96
	printed := strings.Split(write(t, "text", res, o), "\n")
	for _, line := range strings.Split(quoted, "\n") {
		if line == "…" {
			continue
		}
		at := slices.Index(printed, line)
		if at < 0 {
			t.Fatalf("the program does not print this line of the README, or not there:\n%s", line)
		}
		printed = printed[at+1:]
	}
}

// TestPicture compares the picture in the README with the part of the page that it shows. With -update
// it is taken anew if that part has changed: a different browser version alone does not change it.
func TestPicture(t *testing.T) {
	const below = "g1-charts" // the first heading that is not in the picture
	res, o := sampleRun(t)
	whole := write(t, "html", res, o)
	shown, _, found := strings.Cut(whole, `<h3 id="`+below+`"`)
	if !found {
		t.Fatalf("the page has no heading %s", below)
	}
	drawn := fmt.Sprintf("%x\n", sha256.Sum256([]byte(shown)))
	file, from := filepath.Join(sampled, "report.png"), filepath.Join(sampled, "report.sha256")
	if was, _ := os.ReadFile(from); *update && string(was) != drawn {
		err := os.WriteFile(file, screenshot(t, browser(t), servePage(t, whole), below), 0o644)
		if err == nil {
			err = os.WriteFile(from, []byte(drawn), 0o644)
		}
		iferr.Fatal(t, err)
	}
	if was, err := os.ReadFile(from); err != nil || string(was) != drawn {
		t.Errorf("%s shows another page than the program draws now (%v); make update takes it anew", file, err)
	}
	content, err := os.ReadFile(file)
	iferr.Fatal(t, err)
	const most = 150 << 10 // bytes, loaded by everyone who looks at the README
	if picture, err := png.DecodeConfig(bytes.NewReader(content)); err != nil || picture.Width < 1000 || picture.Height < 500 || len(content) > most {
		t.Errorf("%s: %d × %d, %d bytes, %v", file, picture.Width, picture.Height, len(content), err)
	}
}

// screenshot takes a picture of a page down to the element with an id.
func screenshot(t *testing.T, ctx context.Context, url, below string) []byte {
	t.Helper()
	const width = 1240
	do(t, ctx, scheme("light"), chromedp.EmulateViewport(width, 900), chromedp.Navigate(url))
	height := evaluate[float64](t, ctx, `document.getElementById("`+below+`").getBoundingClientRect().top + scrollY`)
	var taken []byte
	beyond := true
	do(t, ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		got, err := cdp.Call(ctx, target, browsed.CaptureScreenshot, browsed.CaptureScreenshotParams{
			Format: "png", CaptureBeyondViewport: &beyond, Clip: &browsed.Viewport{Width: width, Height: height, Scale: 1},
		})
		if err == nil {
			taken = got.Data
		}
		return err
	}))
	return paletted(t, taken)
}

// paletted reduces a picture to its 256 most frequent colours, which makes it half as large.
func paletted(t *testing.T, content []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(content))
	iferr.Fatal(t, err)
	counts := map[color.Color]int{}
	at := full.Bounds()
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			counts[full.At(x, y)]++
		}
	}
	var colors color.Palette
	for c := range counts {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.Color) int {
		if n := counts[b] - counts[a]; n != 0 {
			return n
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	colors = colors[:min(len(colors), 256)]
	reduced := image.NewPaletted(at, colors)
	draw.Draw(reduced, at, full, at.Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	iferr.Fatal(t, encoder.Encode(&b, reduced))
	return b.Bytes()
}
