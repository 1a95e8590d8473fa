package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/record"
)

// TestRowWarnings changes a run of eight quiet rounds, which has no warnings, so that each is raised.
func TestRowWarnings(t *testing.T) {
	every := func(network string, change func(i int, t *record.Trial)) func(*record.File) {
		return func(f *record.File) {
			for _, t := range each(f.Trials) {
				if t.Cell.Network == network {
					change(t.Round, t)
				}
			}
		}
	}
	scaled := func(network string, by func(round int) float64) func(*record.File) {
		return every(network, func(i int, t *record.Trial) { scale(t, record.Throughput, by(i)) })
	}
	steal := func(share float64) func(*record.File) {
		return every("bridge", func(_ int, t *record.Trial) {
			t.CPU = &record.CPUUse{Machine: record.MachineCPU{Steal: share * 2, PerCPU: make([]record.CPUSample, 2)}}
		})
	}
	lose := func(network string, status record.Status, reason string, from, to int) func(*record.File) {
		return every(network, func(i int, t *record.Trial) {
			if from <= i && i <= to {
				t.Status, t.Reason = status, reason
			}
		})
	}
	found := func(_ int, t *record.Trial) {
		t.Status, t.Reason = record.Failed, "MTU black hole (seen as: nothing was received)"
		t.Warnings = []record.Warning{{Code: "mtu-black-hole", Text: "MTU black hole: set the MTU to 1450"}, {Code: "nested-tunnel", Text: "a tunnel in a tunnel"}}
	}
	for _, tt := range []struct {
		name, network, code string
		change              func(*record.File)
		text                string // "" means that there is no such warning
	}{
		{"quiet native", "host", "", func(*record.File) {}, ""},
		{"quiet", "bridge", "", func(*record.File) {}, ""},
		{"few rounds", "bridge", WarnTooFewRounds, func(f *record.File) { f.Trials = f.Trials[:10] }, "5, and 95% confidence needs 6"},
		{"few rounds are not imprecise too", "bridge", WarnNotPrecise, func(f *record.File) { f.Trials = f.Trials[:10] }, ""},
		{"not precise", "bridge", WarnNotPrecise, func(f *record.File) { f.Run.Settings.Precision = 0.001 }, "did not reach the requested ±0.1%"},
		{"limit", "bridge", WarnNotPrecise, func(f *record.File) { f.Run.Settings.Precision = 0.001 }, "within the limit of rounds"},
		{"budget", "bridge", WarnNotPrecise, func(f *record.File) {
			f.Run.Settings.Precision, f.Ends[0].Reason = 0.001, record.EndBudget
		}, "within the time budget"},
		{"no precision wanted", "bridge", WarnNotPrecise, func(f *record.File) { f.Run.Settings.Precision = 0 }, ""},
		{"native failed", "bridge", WarnNoNative, lose("host", record.Failed, "no", 1, 8), "no measured trial of host"},
		{"native missing once", "bridge", WarnUnpaired, lose("host", record.Failed, "no", 4, 4), "in 1 of 8 rounds"},
		{"failed of a finding", "bridge", WarnFailed, every("bridge", found), "8 of 8 trials failed: MTU black hole (seen as: nothing was received)"},
		{"a finding that is the reason is said once", "bridge", "mtu-black-hole", every("bridge", found), ""},
		{"a finding that is not the reason", "bridge", "nested-tunnel", every("bridge", found), "a tunnel in a tunnel"},
		{"failed for two reasons", "bridge", WarnFailed, func(f *record.File) {
			lose("bridge", record.Failed, "no answer within 3 s", 2, 5)(f)
			lose("bridge", record.Failed, "no answer within 5 s", 3, 3)(f)
			lose("bridge", record.Failed, "another", 6, 6)(f)
		}, "4 of 8 trials failed: no answer within 3 s"},
		{"failed once", "bridge", WarnFailed, lose("bridge", record.Failed, "timeout", 4, 4), "1 of 8 trials failed: timeout"},
		{"invalid twice", "bridge", WarnInvalid, lose("bridge", record.Invalid, "br0 saw nothing", 1, 2), "2 of 8 trials invalid: br0 saw nothing"},
		{"skipped once", "bridge", WarnSkipped, lose("bridge", record.Skipped, "busy", 1, 1), "1 of 8 trials skipped: busy"},
		{"skipped always", "bridge", WarnSkipped, lose("bridge", record.Skipped, "busy", 1, 8), ""},
		{"steal", "bridge", WarnSteal, steal(0.05), "took 5% of the CPU time"},
		{"little steal", "bridge", WarnSteal, steal(0.019), ""},
		{"steal of one of two machines", "bridge", WarnSteal, func(f *record.File) {
			for i := range f.Trials {
				cpus := []record.CPUSample{{Host: "machine 1", Steal: 0.05}, {Host: "machine 2"}, {Host: "machine 2", CPU: 1}, {Host: "machine 2", CPU: 2}}
				f.Trials[i].CPU = &record.CPUUse{Machine: record.MachineCPU{Steal: 0.05, PerCPU: cpus}}
			}
		}, "took 5% of the CPU time"},
		{"steal beside trials in which the machine was not read", "bridge", WarnSteal, func(f *record.File) {
			steal(0.03)(f)
			every("bridge", func(i int, t *record.Trial) {
				if i < 7 {
					t.CPU.Machine = record.MachineCPU{PerCPU: []record.CPUSample{}}
				}
			})(f)
		}, "took 3% of the CPU time"},
		{"drift", "host", WarnDrift, scaled("host", func(i int) float64 { return 1 - 0.03*float64(i) }), "changed by −2"},
		{"drift upwards", "host", WarnDrift, scaled("host", func(i int) float64 { return 1 + 0.03*float64(i) }), "changed by +2"},
		{"drift of the other", "bridge", WarnDrift, scaled("bridge", func(i int) float64 { return 1 - 0.03*float64(i) }), ""},
		{"little drift", "host", WarnDrift, scaled("host", func(i int) float64 { return 1 - 0.01*float64(i) }), ""},
		{"noisy", "host", WarnNoisy, scaled("host", func(i int) float64 { return 1 + 0.3*float64(i%2*2-1) }), "varied by 3"},
		{"noise of the other", "bridge", WarnNoisy, scaled("bridge", func(i int) float64 { return 1 + 0.3*float64(i%2*2-1) }), ""},
		{"outlier", "bridge", WarnOutliers, scaled("bridge", func(i int) float64 {
			if i == 3 {
				return 0.25
			}
			return 1
		}), "outliers of throughput: 1 of 8 values"},
		{"differs", "bridge", WarnDiffers, func(f *record.File) {
			every("bridge", func(_ int, t *record.Trial) { t.Endpoints = endpointsOf(1450, nil) })(f)
			every("host", func(_ int, t *record.Trial) { t.Endpoints = endpointsOf(1500, nil) })(f)
		}, "MTU 1450 against 1500"},
		{"differs in a trial without figures", "bridge", WarnDiffers, func(f *record.File) {
			every("host", func(_ int, t *record.Trial) { t.Endpoints = endpointsOf(1500, nil) })(f)
			every("bridge", func(i int, t *record.Trial) {
				if t.Endpoints = endpointsOf(1500, nil); i == 8 {
					t.Status, t.Endpoints = record.Invalid, endpointsOf(1400, nil)
				}
			})(f)
		}, ""},
		{"compared with another machine", "bridge", WarnElsewhere, func(f *record.File) {
			f.Run.Machine.Kernel = "this"
			every("bridge", func(_ int, t *record.Trial) { t.Endpoints = []record.Endpoint{{Role: "client"}, {Role: "server"}} })(f)
			every("host", func(_ int, t *record.Trial) {
				m := &record.Machine{Kernel: "another"}
				t.Endpoints = []record.Endpoint{{Role: "client", Platform: "ssh a", Machine: m}, {Role: "server", Platform: "ssh b", Machine: m}}
			})(f)
		}, "measured on this machine, and native on ssh a and ssh b"},
		{"compared with this machine by way of an engine that may be elsewhere", "bridge", WarnElsewhere, func(f *record.File) {
			f.Run.Machine.Kernel = "this"
			every("bridge", func(_ int, t *record.Trial) { t.Endpoints = []record.Endpoint{{Role: "client"}} })(f)
			every("host", func(_ int, t *record.Trial) {
				t.Endpoints = []record.Endpoint{{Role: "client", Machine: &f.Run.Machine}}
			})(f)
		}, ""},
		{"compared with machines of another kind", "bridge", WarnElsewhere, func(f *record.File) {
			on := func(kernel, platform string) func(int, *record.Trial) {
				return func(_ int, t *record.Trial) {
					t.Endpoints = []record.Endpoint{{Platform: platform, Machine: &record.Machine{Kernel: kernel}}}
				}
			}
			every("bridge", on("6.1", "ssh a"))(f)
			every("host", on("6.12", "node b"))(f)
		}, "measured on ssh a, and native on node b"},
		{"compared with the same machines, the other way round", "bridge", WarnElsewhere, func(f *record.File) {
			a, b := record.Endpoint{Machine: &record.Machine{Kernel: "6.1"}}, record.Endpoint{Machine: &record.Machine{Kernel: "6.12"}}
			every("bridge", func(_ int, t *record.Trial) { t.Endpoints = []record.Endpoint{a, b} })(f)
			every("host", func(_ int, t *record.Trial) { t.Endpoints = []record.Endpoint{b, a} })(f)
		}, ""},
		{"moved", "bridge", WarnMoved, every("bridge", func(i int, t *record.Trial) {
			t.Endpoints = []record.Endpoint{{Role: "client", Platform: "ssh a"}, {Role: "server", Platform: []string{"ssh b", "ssh c"}[i/5]}}
		}), "the machines changed: server from ssh b to ssh c"},
		{"moved only while it failed", "bridge", WarnMoved, every("bridge", func(i int, t *record.Trial) {
			t.Endpoints = []record.Endpoint{{Role: "client", Platform: "ssh a"}, {Role: "server", Platform: "ssh b"}}
			if i == 3 {
				t.Status, t.Endpoints[1].Platform = record.Failed, "ssh c"
			}
		}), ""},
		{"carried", "bridge", "generator-limited", every("bridge", func(i int, t *record.Trial) {
			if i < 4 {
				t.Warnings = []record.Warning{{Code: "generator-limited", Text: "client at 100 %"}, {Code: "generator-limited", Text: "client at 100 %"}}
			}
		}), "client at 100 % (in 3 of 8 trials)"},
		{"several of a code", "bridge", "remark", every("bridge", func(i int, t *record.Trial) {
			if i > 4 {
				t.Warnings = []record.Warning{{Code: "remark", Text: "one"}, {Code: "remark", Text: "one"}, {Code: "remark", Text: "another"}}[:3-i%2]
			}
		}), "one (in 4 of 8 trials)"},
		{"the other of a code", "bridge", "remark", every("bridge", func(i int, t *record.Trial) {
			if i > 4 {
				t.Warnings = []record.Warning{{Code: "remark", Text: "another"}, {Code: "remark", Text: "one"}}[i%2:]
			}
		}), "another (in 2 of 8 trials)"},
		{"said by one of the first trials only", "bridge", "remark", every("bridge", func(i int, t *record.Trial) {
			t.Warnings = []record.Warning{{Code: "remark", Text: []string{"one", "another"}[min(i, 2)-1]}}
		}), "one (in 1 of 8 trials)"},
		{"carried with other numbers", "bridge", "pace-missed", every("bridge", func(i int, t *record.Trial) {
			if i > 4 {
				t.Warnings = []record.Warning{{Code: "pace-missed", Text: fmt.Sprintf("reached only %d of the requested 100 Mbit/s", 90-10*i)}}
			}
		}), "reached only 10 to 40 of the requested 100 Mbit/s (in 4 of 8 trials)"},
		{"several in one trial, with other numbers", "bridge", "overran", every("bridge", func(i int, t *record.Trial) {
			for n := range 4 {
				t.Warnings = append(t.Warnings, record.Warning{Code: "overran", Text: fmt.Sprintf("%d KB were still on their way", 10*i+n)})
			}
		}), "10 to 83 KB were still on their way (in 8 of 8 trials)"},
		{"histogram", "bridge", WarnHistogram, every("bridge", func(i int, t *record.Trial) {
			if i == 2 {
				t.Latency = &record.Histogram{Encoded: "x"}
			}
		}), "latencies of 1 of 8 trials"},
		{"unknown metric", "bridge", WarnUnknownMetric, every("bridge", func(i int, t *record.Trial) {
			t.Metrics["wobble"] = record.Metric{Value: 1, Unit: "s"}
			t.Metrics[record.CPUPerGB] = record.Metric{Value: 1, Unit: "ms"}
		}), `cpu_per_gb in "ms", wobble`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fileOf(pairedTrials(21, 8, 0.9, 0.01)...)
			tt.change(f)
			row := rowOf(t, Analyze(f), tt.network)
			if tt.code == "" && len(row.Warnings) > 0 {
				t.Fatalf("warnings %+v", row.Warnings)
			}
			if tt.text == "" {
				for _, w := range row.Warnings {
					if w.Code == tt.code {
						t.Fatalf("warning %+v", w)
					}
				}
				return
			}
			coded := record.Those(row.Warnings, func(w Warning) bool { return w.Code == tt.code })
			if !slices.ContainsFunc(coded, func(w Warning) bool { return strings.Contains(w.Text, tt.text) }) {
				t.Errorf("%q do not say %q", coded, tt.text)
			}
		})
	}
}

func TestRunWarnings(t *testing.T) {
	idle := func(used float64) func(*record.File) {
		return func(f *record.File) {
			for i := range f.Trials {
				f.Trials[i].CPU = &record.CPUUse{Idle: used, Machine: record.MachineCPU{PerCPU: make([]record.CPUSample, 2)}}
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*record.File)
		code   string
		end    string
		text   string
	}{
		{"orderly", func(*record.File) {}, "", record.EndMaxRounds, ""},
		{"no end line", func(f *record.File) { f.Ends, f.Open = nil, true }, WarnUnfinished, "", "complete rounds: 8"},
		{"emulated", func(f *record.File) { f.Run.Machine.Virtual = record.Emulated }, WarnEmulated, record.EndMaxRounds, "no figure"},
		{"emulated at one end", func(f *record.File) {
			f.Trials[0].Endpoints = []record.Endpoint{{Name: "h1", Machine: &record.Machine{}}, {Name: "h2", Platform: "ssh b", Machine: &record.Machine{Virtual: record.Emulated}}}
		}, WarnEmulated, record.EndMaxRounds, "the machine of ssh b is emulated"},
		{"faster when busy", func(f *record.File) {
			f.Run.Machine.Power = &record.Power{FrequencyDriver: "intel_pstate", Governors: []string{"powersave"}}
		}, WarnFrequency, record.EndMaxRounds, "the CPUs of the machine are, the higher is their clock frequency (cpufreq intel_pstate powersave): at low load"},
		{"faster when busy at one end", func(f *record.File) {
			f.Run.Machine.Power = &record.Power{FrequencyDriver: "acpi-cpufreq", Governors: []string{"performance"}}
			f.Trials[0].Endpoints = []record.Endpoint{{Name: "h2", Platform: "ssh b", Machine: &record.Machine{Power: &record.Power{Governors: []string{"performance", "ondemand"}}}}}
		}, WarnFrequency, record.EndMaxRounds, "the CPUs of the machine of ssh b are, the higher is their clock frequency (cpufreq performance/ondemand)"},
		{"another governor at the end", func(f *record.File) {
			f.Run.Machine.Power = &record.Power{FrequencyDriver: "acpi-cpufreq", Governors: []string{"performance"}}
			f.Ends[0].Frequency = "acpi-cpufreq powersave"
		}, WarnMoved, record.EndMaxRounds, "by cpufreq acpi-cpufreq performance when the run began, and by acpi-cpufreq powersave later"},
		{"faster when busy, but others are measured", func(f *record.File) {
			f.Run.Machine.Power = &record.Power{Governors: []string{"ondemand"}}
			f.Ends[0].Frequency = "performance"
			for i := range f.Trials {
				f.Trials[i].Endpoints = []record.Endpoint{{Name: "h1", Machine: &record.Machine{}}, {Name: "h2", Machine: &record.Machine{}}}
			}
		}, "", record.EndMaxRounds, ""},
		{"at the same frequency", func(f *record.File) {
			f.Run.Machine.Power = &record.Power{FrequencyDriver: "acpi-cpufreq", Governors: []string{"powersave"}, IdleDriver: "acpi_idle"}
		}, "", record.EndMaxRounds, ""},
		{"a compiler beside it", idle(1.9), WarnBusy, record.EndMaxRounds, "used 1.9 of the machine's 2 CPUs"},
		{"a compiler beside it on a small machine", func(f *record.File) {
			idle(0.4)(f)
			for i := range f.Trials {
				f.Trials[i].CPU.Machine.PerCPU = f.Trials[i].CPU.Machine.PerCPU[:1]
			}
		}, WarnBusy, record.EndMaxRounds, "used 0.4 of the machine's one CPU between"},
		{"little beside it", idle(0.19), "", record.EndMaxRounds, ""},
		{"other machines, of which one is busy", func(f *record.File) {
			idle(1.9)(f)
			for i := range f.Trials {
				f.Trials[i].CPU.Hosts = []record.HostCPU{{Host: "machine 1", Idle: 1.9}, {Host: "machine 2"}}
			}
		}, "", record.EndMaxRounds, ""},
		{"cut off", func(f *record.File) { f.Truncated = 17 }, WarnTruncated, "", "17 bytes"},
		{"interrupted", func(f *record.File) { f.Ends[0].Reason, f.Ends[0].Detail = record.EndInterrupted, "SIGINT" },
			WarnUnfinished, record.EndInterrupted, "interrupted (SIGINT)"},
		{"given up", func(f *record.File) { f.Ends[0].Reason = record.EndFailed }, WarnUnfinished, record.EndFailed, "nothing more could be measured"},
		{"resumed and died, by a clock that was set back", func(f *record.File) {
			f.Resumes, f.Open = []record.Resume{{Started: f.Ends[0].Finished.Add(-time.Minute)}}, true
		}, WarnUnfinished, "", "did not finish cleanly"},
		{"died, resumed and ended, by a clock that was set back", func(f *record.File) {
			f.Resumes = []record.Resume{{Started: f.Ends[0].Finished.Add(time.Minute)}}
		}, "", record.EndMaxRounds, ""},
		{"free placement", func(f *record.File) {
			for i := range f.Trials {
				f.Trials[i].Cell.Placement = record.PlacementFree
			}
		}, WarnPlacement, record.EndMaxRounds, "on which figures depend"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fileOf(pairedTrials(21, 8, 0.9, 0.01)...)
			tt.change(f)
			res := Analyze(f)
			if res.End != tt.end {
				t.Errorf("end %q, want %q", res.End, tt.end)
			}
			if tt.code == "" {
				if len(res.Warnings) > 0 {
					t.Errorf("warnings %+v", res.Warnings)
				}
				return
			}
			w := warningOf(t, res.Warnings, tt.code)
			if !strings.Contains(w.Text, tt.text) {
				t.Errorf("%q does not say %q", w.Text, tt.text)
			}
			if tt.end == record.EndFailed && strings.Contains(w.Advice, "--resume") {
				t.Errorf("%q would give up the same cells", w.Advice)
			}
		})
	}
}

// Remedies name the flag that helps: the limit that ended the run, with
// a sufficient value, and never one that contradicts the run's own.
func TestRemedies(t *testing.T) {
	for _, tt := range []struct {
		name, code, end string
		rounds          int
		spent           float64
		says, not       string
	}{
		{"not precise, budget", WarnNotPrecise, record.EndBudget, 8, 60, "(--time-budget 28m --max-rounds 200)", "allow more rounds"},
		{"not precise, rounds", WarnNotPrecise, record.EndMaxRounds, 8, 60, "(--max-rounds ", "--time-budget"},
		{"not precise, and hours would not help", WarnNotPrecise, record.EndBudget, 8, 720, ", which take 5 hours: reduce other load", "--time-budget"},
		{"not precise, interrupted", WarnNotPrecise, record.EndInterrupted, 8, 60, "(--resume FILE --max-rounds 200)", "--min-rounds"},
		{"two rounds, budget", WarnTooFewRounds, record.EndBudget, 2, 20, "(--time-budget 2m)", "--min-rounds"},
		{"two rounds, limit", WarnTooFewRounds, record.EndMaxRounds, 2, 20, "(--max-rounds 6)", "--min-rounds"},
	} {
		f := fileOf(pairedTrials(1, tt.rounds, 0.9, 0.2)...)
		f.Ends[0].Reason, f.Spent = tt.end, tt.spent
		w := warningOf(t, rowOf(t, Analyze(f), "bridge").Warnings, tt.code)
		if !strings.Contains(w.Advice, tt.says) || strings.Contains(w.Advice, tt.not) {
			t.Errorf("%s: %q, want %q and not %q", tt.name, w.Advice, tt.says, tt.not)
		}
	}
}

// Where more rounds help, the flags are those for what ended the run, and no lower limit prevents them.
func TestRemediesThatAreMoreRounds(t *testing.T) {
	file := func(end string) *record.File {
		var trials []record.Trial
		for round := 1; round <= 12; round++ {
			v := 10e9 * float64(1+round%2)
			trials = append(trials, throughputTrial(streamCell("host"), round, v), throughputTrial(streamCell("bridge"), round, v*(0.5+0.01*float64(round))))
		}
		f := fileOf(trials...)
		f.Ends[0].Reason, f.Spent = end, 120
		return f
	}
	for end, want := range map[string]string{
		record.EndBudget:      "allow more time (--time-budget 5m --max-rounds 24)",
		record.EndMaxRounds:   "allow more rounds (--max-rounds 24)",
		record.EndPrecision:   "ask for more rounds (--min-rounds 24 --max-rounds 24)",
		record.EndInterrupted: "resume this run (--resume FILE --max-rounds 24)",
		record.EndFailed:      "mend what failed, and begin another run", // everything was given up
	} {
		res := Analyze(file(end))
		for network, code := range map[string]string{"host": WarnNoisy, "bridge": WarnAlike} {
			if w := warningOf(t, rowOf(t, res, network).Warnings, code); !strings.HasSuffix(w.Advice, want) {
				t.Errorf("%s after %s: %q, want %q", code, end, w.Advice, want)
			}
		}
		short := file(end)
		short.Run.Settings.Budget = 60
		limited := warningOf(t, rowOf(t, Analyze(short), "host").Warnings, WarnNoisy).Advice
		// 24 rounds take 10 s each; a run that is resumed has had 12 of them. A tenth is to spare.
		budget := map[string]string{record.EndBudget: "5m", record.EndMaxRounds: "5m", record.EndPrecision: "5m", record.EndInterrupted: "3m"}[end]
		if has := strings.Contains(limited, "--time-budget "); has != (budget != "") || has && !strings.Contains(limited, "--time-budget "+budget) {
			t.Errorf("%s within a minute: %q", end, limited)
		}
		twins := twinFile(3, 7, 1)
		twins.Ends[0].Reason, twins.Run.Settings.MaxRounds, twins.Spent = end, 7, 70
		// Without an alarm it takes 36 comparisons, each of 8 rounds, to tell that there are at most twice as many as promised.
		want = strings.NewReplacer("5m", "53m", "24", "288").Replace(want)
		if got := SelfCheck(twins, 0); got.More != want || got.Warnings[0].Advice != want {
			t.Errorf("self-check after %s: %q, %q, want %q", end, got.More, got.Warnings[0].Advice, want)
		}
	}
}

// Where nothing was measured, nothing is said to be valid.
func TestNothingWasMeasured(t *testing.T) {
	f := fileOf(pairedTrials(21, 8, 0.9, 0.01)...)
	for i := range f.Trials {
		f.Trials[i].Status = record.Invalid
	}
	f.Ends[0].Reason = record.EndFailed
	if w := warningOf(t, Analyze(f).Warnings, WarnUnfinished); w.Advice != anew {
		t.Errorf("%q", w.Advice)
	}
}

// Rounds that a network has lost are no part of those that it needs: their number would be less than what the run had.
func TestRemediesAfterLostRounds(t *testing.T) {
	lose := func(network string, rounds int, lost func(round int) bool, shares ...float64) Result {
		trials := several(rounds, shares...)
		for i := range trials {
			if one := &trials[i]; strings.HasPrefix(one.Cell.Network, network) && lost(one.Round) {
				one.Status, one.Reason = record.Failed, "x"
			}
		}
		return Analyze(fileOf(trials...))
	}
	for _, tt := range []struct {
		name, network string
		lost          func(round int) bool
		want          string
	}{
		{"now and then", "n", func(round int) bool { return round%3 != 0 }, "allow more rounds (--max-rounds 15)"},
		{"given up", "n", func(round int) bool { return round > 4 }, "mend what failed, and begin another run"},
		{"the baseline is given up", "host", func(round int) bool { return round > 4 }, "mend what failed, and begin another run"},
	} {
		row := rowOf(t, lose(tt.network, 12, tt.lost, 0.7), "n1")
		if w := warningOf(t, row.Warnings, WarnTooFewRounds); w.Advice != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, w.Advice, tt.want)
		}
	}
	short := lose("n", 10, func(round int) bool { return round == 3 || round == 6 }, 0.7, 0.8, 0.6, 0.5, 0.4)
	if w := warningOf(t, short.Warnings, WarnShort); !strings.HasPrefix(w.Advice, "allow more rounds (--max-rounds 11)") {
		t.Errorf("too few for a verdict: %q", w.Advice)
	}
}

// Precision is requested of ratios, and not of their baseline, unless nothing is compared with it.
func TestBaselinesAreNotImprecise(t *testing.T) {
	var trials []record.Trial
	for round := 1; round <= 10; round++ {
		v := 10e9 / float64(round)
		trials = append(trials, throughputTrial(streamCell("host"), round, v), throughputTrial(streamCell("bridge"), round, 0.8*v))
	}
	if all := codes(rowOf(t, Analyze(fileOf(trials...)), "host").Warnings); slices.Contains(all, WarnNotPrecise) {
		t.Errorf("a baseline has %q", all)
	}
	alone := record.Those(trials, func(t record.Trial) bool { return t.Cell.IsNative() })
	warningOf(t, rowOf(t, Analyze(fileOf(alone...)), "host").Warnings, WarnNotPrecise)
}

// The flags that would make endpoints alike are named, unless the run has them already.
func TestLevelling(t *testing.T) {
	two, plain := streamCell("vxlan"), streamCell("bridge")
	two.Hosts = 2
	normal, off := two, two
	normal.Normalize, off.Offload = true, record.OffloadOff
	for _, tt := range []struct {
		cell record.Cell
		what []difference
		want string
	}{
		{two, []difference{{attribute: "MTU"}}, "measure with --normalize to rule that out"},
		{two, []difference{{attribute: "MSS"}}, "measure with --normalize to rule that out"},
		{normal, []difference{{attribute: "MTU"}}, ""},
		{two, []difference{{attribute: "tso"}, {attribute: "qdisc"}}, "measure with --offload off to rule out tso, but not qdisc"},
		{off, []difference{{attribute: "tso"}}, ""},
		{plain, []difference{{attribute: "gro"}}, "measure with --offload off --baseline veth --hosts 1 to rule that out"},
		{two, []difference{{attribute: "MTU"}, {attribute: "congestion control"}}, "measure with --normalize --congestion NAME to rule that out"},
		{two, []difference{{attribute: "qdisc"}}, ""},
		{two, []difference{{attribute: cpuPackage}}, ""}, // they have stood alone already
	} {
		if got := levelling(tt.cell, nil, nil, tt.what, record.Settings{}); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// Trials of other tools than the engine are not made of turns, so a longer window is enough.
func TestLongerWindowsOfATool(t *testing.T) {
	for tool, turns := range map[string]bool{"engine": true, "iperf3": false} {
		c := streamCell("host")
		c.Tool = tool
		tr := throughputTrial(c, 1, 1e9)
		if turns {
			tr.Slices = []record.Slice{{Window: 0.1}}
		}
		tr.Warnings = []record.Warning{{Code: record.WarnStarved, Text: "1 of 1 flows received nothing"}}
		f := fileOf(tr)
		f.Run.Settings.Turns = true
		w := warningOf(t, rowOf(t, Analyze(f), "host").Warnings, record.WarnStarved)
		if strings.Contains(w.Advice, "--turns=false") != turns || !strings.Contains(w.Advice, "longer windows") {
			t.Errorf("%s: %q", tool, w.Advice)
		}
	}
}

// Devices of a machine of the user's are not changed, whichever end is there, and not all offloads of all devices can be turned off.
func TestLevellingThatIsPossible(t *testing.T) {
	what := []difference{{attribute: "MTU"}, {attribute: "tso"}, {attribute: "congestion control"}}
	veth, theirs, macvlan := record.Endpoint{Driver: "veth"}, record.Endpoint{Driver: "veth", Open: true}, record.Endpoint{Driver: "macvlan"}
	for _, tt := range []struct {
		hosts          int
		client, server record.Endpoint
		baseline       record.Endpoint
		want           string
	}{
		{2, veth, veth, veth, "--normalize --offload off --congestion NAME to rule that out"},
		{2, theirs, veth, veth, "--congestion NAME to rule out congestion control, but not MTU and tso"},
		{2, veth, theirs, veth, "--congestion NAME to rule out congestion control, but not MTU and tso"},
		{2, veth, veth, theirs, "--congestion NAME to rule out congestion control, but not MTU and tso"},
		{2, macvlan, macvlan, veth, "--normalize --congestion NAME to rule out MTU and congestion control, but not tso"},
		{2, veth, veth, macvlan, "--normalize --congestion NAME to rule out MTU and congestion control, but not tso"},
		{1, veth, veth, record.Endpoint{Driver: "loopback"}, "--normalize --offload off --baseline veth --hosts 1 --congestion NAME to rule that out"},
		{1, veth, record.Endpoint{Driver: "loopback"}, record.Endpoint{Driver: "loopback"}, "--normalize --congestion NAME to rule out MTU and congestion control, but not tso"},
	} {
		c := streamCell("bridge")
		c.Hosts = tt.hosts
		got := levelling(c, []record.Endpoint{tt.client, tt.server}, []record.Endpoint{tt.baseline}, what, record.Settings{})
		if got != "measure with "+tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// An interval withstands an outlier only if fewer Walsh averages contain it than lie beyond the interval's end.
func TestWithstands(t *testing.T) {
	for n, want := range map[int]bool{6: false, 8: false, 11: false, 12: true, 20: true} {
		values := make([]float64, n)
		for i := range values {
			values[i] = 1 + 0.01*float64(i%5)
		}
		calm := summarize(values, 0.95)
		values[n-1] = 1000
		wild := summarize(values, 0.95)
		if got := withstands(n, 1, 0.95); got != want || got != (wild.High < 2) || calm.High > 2 {
			t.Errorf("%d values: withstands %v, want %v; the interval reaches %v", n, got, want, wild.High)
		}
	}
}

// TestSeveralVersions checks that rounds by several versions of nettoll are doubted.
func TestSeveralVersions(t *testing.T) {
	f := fileOf(throughputTrial(streamCell("host"), 1, 1e9))
	for _, c := range []struct {
		versions []string
		want     bool
	}{{nil, false}, {[]string{"1.0.0"}, false}, {[]string{"1.0.0", "1.1.0"}, true}} {
		f.Versions = c.versions
		if has := slices.Contains(codes(Analyze(f).Warnings), WarnVersions); has != c.want {
			t.Errorf("%v: the doubt is there: %v", c.versions, has)
		}
	}
}

// TestNoRoundHasBoth checks that nothing is said about a ratio where there is none.
func TestNoRoundHasBoth(t *testing.T) {
	var trials []record.Trial
	for round, network := range []string{"host", "bridge"} {
		trials = append(trials, throughputTrial(streamCell(network), round+1, 1e9))
	}
	row := rowOf(t, Analyze(fileOf(trials...)), "bridge")
	if w := warningOf(t, row.Warnings, WarnNoNative); !strings.HasPrefix(w.Text, "no round has ") {
		t.Error(w.Text)
	}
	if slices.Contains(codes(row.Warnings), WarnUnpaired) {
		t.Errorf("%+v", row.Warnings)
	}
}

// TestNamesInAdvice has names of run files that a shell would take apart.
func TestNamesInAdvice(t *testing.T) {
	for name, want := range map[string]string{
		"runs/nettoll-20260102-150405.ndjson": "runs/nettoll-20260102-150405.ndjson", "größe.ndjson": "größe.ndjson",
		"my run.ndjson": "'my run.ndjson'", "$(x)": "'$(x)'", "it's": `'it'\''s'`,
	} {
		if got := quoted(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestMeansAreAnswersAlone has a tool that reports nothing but a mean: that is what networks are ranked by, and it is shown.
func TestMeansAreAnswersAlone(t *testing.T) {
	of := func(metrics ...string) Scenario {
		r := Row{Status: record.OK}
		for _, name := range metrics {
			k, _ := record.KindOf(name)
			r.Figures = append(r.Figures, Figure{Kind: k})
		}
		return Scenario{Cell: record.Cell{Workload: record.TCPRR}, Rows: []Row{r}}
	}
	for want, s := range map[string]Scenario{record.LatencyMean: of(record.LatencyMean), record.LatencyP50: of(record.LatencyMean, record.LatencyP50)} {
		if got := s.Answers(); len(got) != 1 || got[0].Name != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
