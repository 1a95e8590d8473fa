package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// palettes reads the variables of the page: in light, in dark, on paper.
func palettes(t *testing.T) []map[string]string {
	t.Helper()
	var all []map[string]string
	for _, block := range regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(pageStyle, -1) {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`(--[a-z0-9-]+): (#[0-9a-f]+)`).FindAllStringSubmatch(block[1], -1) {
			colors[m[1]] = m[2]
		}
		all = append(all, colors)
	}
	if len(all) != 3 {
		t.Fatalf("%d palettes, want light, dark and paper", len(all))
	}
	return all
}

func TestEveryColorIsDefined(t *testing.T) {
	page := write(t, "html", awkward()["many"], Options{})
	light := palettes(t)[0]
	for _, m := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, ok := light[m[1]]; !ok {
			t.Errorf("%s is not defined", m[1])
		}
	}
	if strings.Contains(page, "#01FE") {
		t.Error("a colour of the charts was not replaced")
	}
}

// TestContrast holds text to the 4.5:1 and drawings to the 3:1 of WCAG AA.
func TestContrast(t *testing.T) {
	for i, p := range palettes(t) {
		least := map[string]float64{"--text": 4.5, "--faint": 4.5, "--link": 4.5, "--worse": 4.5, "--better": 4.5, "--bar": 3, "--bar-native": 3, "--interval": 3}
		for n := range 8 {
			least["--line-"+strconv.Itoa(n)] = 3
		}
		for name, want := range least {
			for _, ground := range []string{"--page", "--panel"} {
				if got := contrast(t, p[name], p[ground]); got < want {
					t.Errorf("palette %d: %s on %s has contrast %.2f, want %.1f", i, name, ground, got, want)
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
