package sampler

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
)

func TestCongestion(t *testing.T) {
	proc := t.TempDir()
	dir := filepath.Join(proc, "sys/net/ipv4")
	iferr.Fatal(t, os.MkdirAll(dir, 0o755))
	for _, c := range []struct {
		own, there, allowed string
		everybody, root     string
	}{
		{"bbr", "reno bbr cubic", "reno bbr", "bbr", "cubic"},
		{"bbr", "reno bbr cubic", "reno bbr cubic", "cubic", "cubic"},
		{"cubic", "reno cubic", "reno cubic", "cubic", "cubic"},
		{"reno", "reno", "reno", "reno", "reno"},
	} {
		for name, text := range map[string]string{
			"tcp_congestion_control": c.own, "tcp_available_congestion_control": c.there, "tcp_allowed_congestion_control": c.allowed,
		} {
			iferr.Fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644))
		}
		got, err := ReadCongestion(proc)
		if err != nil || got.Own != c.own || got.Unpaced(false) != c.everybody || got.Unpaced(true) != c.root {
			t.Errorf("%+v: read as %+v, %v: %s for everybody, %s for root", c, got, err, got.Unpaced(false), got.Unpaced(true))
		}
	}
	if _, err := ReadCongestion(t.TempDir()); err == nil {
		t.Error("no files, and no error")
	}
	if own, err := ReadCongestion("/proc"); err != nil || own.Own == "" {
		t.Errorf("this machine's: %+v, %v", own, err)
	}
}

// TestAskCongestion has agents on machines with other kernels, and other permissions, than each other.
func TestAskCongestion(t *testing.T) {
	type machine struct {
		own    string
		usable []string
	}
	for _, c := range []struct {
		name     string
		machines []machine
		want     string
	}{
		{"all alike", []machine{{"bbr", []string{"reno", "bbr", "cubic"}}, {"bbr", []string{"reno", "bbr", "cubic"}}}, "cubic"},
		{"other defaults", []machine{{"cubic", []string{"reno", "cubic"}}, {"bbr", []string{"reno", "bbr", "cubic"}}}, "cubic"},
		{"cubic not for everybody", []machine{{"bbr", []string{"reno", "bbr"}}, {"cubic", []string{"reno", "cubic", "bbr"}}}, "bbr"},
		{"one that the first lacks", []machine{{"bbr", []string{"reno", "bbr"}}, {"cubic", []string{"reno", "cubic"}}}, "reno"},
		{"a machine that does not show its default", []machine{{"", []string{"reno"}}, {"bbr", []string{"reno", "bbr"}}}, "reno"},
		{"nothing in common", []machine{{"bbr", []string{"bbr"}}, {"cubic", []string{"cubic"}}}, ""},
	} {
		var agents []network.Agent
		for _, m := range c.machines {
			agents = append(agents, local{map[string]agent.Handler{MethodCongestion: agent.Typed(func(_ context.Context, names []string) (Control, error) {
				return Control{Own: m.own, Usable: slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(m.usable, n) })}, nil
			})}})
		}
		if got, err := AskCongestion(t.Context(), agents...); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	here := local{Handlers()}
	got, err := AskCongestion(t.Context(), here, here)
	if err != nil || TryCongestion(got) != nil {
		t.Errorf("this machine: %q, %v, %v", got, err, TryCongestion(got))
	}
}
