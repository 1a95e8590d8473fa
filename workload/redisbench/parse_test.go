package redisbench

import (
	"fmt"
	"strings"
	"testing"

	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		file           string
		size, requests int
		want           []figures
	}{
		{"7.0.15/one.txt", 1024, 10406, []figures{
			{36131.95, 0.024e-3, 0.023e-3, 0.071e-3, 2.119e-3},
			{28277.17, 0.032e-3, 0.023e-3, 0.159e-3, 2.855e-3},
			{32930.38, 0.027e-3, 0.023e-3, 0.119e-3, 4.631e-3},
		}},
		{"7.0.15/sixteen.txt", 3, 17875, []figures{
			{20084.27, 0.495e-3, 0.247e-3, 5.215e-3, 21.727e-3},
			{25682.47, 0.426e-3, 0.263e-3, 3.527e-3, 8.191e-3},
		}},
	} {
		requests, runs, err := readOutput(transcript(t, c.file), c.size)
		if err != nil || requests != c.requests || fmt.Sprintf("%.6g", runs) != fmt.Sprintf("%.6g", c.want) {
			t.Errorf("%s: %d requests, %+v, %v", c.file, requests, runs, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	header := `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n"
	good := "3\n100\n" + header + `"GET","1000.00","0.400","0.100","0.200","0.300","0.500","2.000"` + "\n"
	if _, _, err := readOutput(good, 3); err != nil {
		t.Fatal(err)
	}
	with := func(old, new string) string { return workloadtest.Altered(t, good, old, new) }
	for _, c := range []struct{ name, text, want string }{
		{"server killed", transcript(t, "7.0.15/killed.txt"), `store a value of 3 bytes: "6"`},
		{"another value is there", transcript(t, "7.0.15/size.txt"), `store a value of 3 bytes: "6"`},
		{"refused", transcript(t, "7.0.15/refused.txt"), "Could not connect to Redis at 198.18.0.1:6379: Connection refused"},
		{"text instead of CSV", transcript(t, "7.0.15/text.txt"), "known to work is redis-benchmark 7.0"},
		{"nothing", "", "store a value of 3 bytes"},
		{"no runs", "3\n100\n", "0 lines of output; known to work is redis-benchmark 7.0"},
		{"no requests", with("100\n", "0\n"), `"0" requests`},
		{"header alone", "3\n100\n" + header, "1 lines of output"},
		{"error of the server", with("3\n", "ERR out of coffee\n"), "ERR out of coffee"},
		{"other columns", with("p95", "p96"), "unknown columns"},
		{"before 7.0", "3\n100\n" + `"GET","1000.00"` + "\n" + `"GET","1000.00"`, "unknown columns"},
		{"other test", with(`"GET"`, `"SET"`), "unknown line"},
		{"fewer columns", with(`,"2.000"`, ""), "unknown line"},
		{"nan", with("0.400", "-nan"), `avg_latency_ms is "-nan"`},
		{"faster than it can tell", with("1000.00", "inf"), `rps is "inf"`},
		{"negative", with("1000.00", "-1"), `rps is "-1"`},
		{"zero rate", with("1000.00", "0.00"), "rps is zero"},
		{"zero latency", with(`"0.200"`, `"0.000"`), "p50_latency_ms is zero"},
		{"unordered", with("0.500", "0.250"), "p99_latency_ms is 0.25, and what should be less is 0.3"},
	} {
		_, _, err := readOutput(c.text, 3)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"one.txt", "sixteen.txt", "short.txt", "text.txt", "killed.txt", "refused.txt"} {
		f.Add(transcript(f, "7.0.15/"+name), 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		requests, runs, err := readOutput(text, size)
		if err != nil {
			return
		}
		if requests < 1 || len(runs) == 0 {
			t.Fatalf("%d requests, %d runs", requests, len(runs))
		}
		for _, r := range runs {
			if !(r.rate > 0 && r.mean > 0 && r.p50 > 0 && r.p50 <= r.p99 && r.p99 <= r.max) {
				t.Errorf("%+v", r)
			}
		}
	})
}
