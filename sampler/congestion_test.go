package sampler

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCongestion(t *testing.T) {
	proc := t.TempDir()
	dir := filepath.Join(proc, "sys/net/ipv4")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
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
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
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
