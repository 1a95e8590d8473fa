package main

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestBar(t *testing.T) {
	for _, c := range []struct {
		round       int
		spent, left time.Duration
		at, want    string
	}{
		{0, time.Second, 0, "idle", "round 1   ░░░░░░░░░░░░░░░░   0%                     idle"},
		{3, 10 * time.Second, 30 * time.Second, "vxlan", "round 3   ████░░░░░░░░░░░░  25%  at most 30s left   vxlan"},
		{40, time.Hour, 1234 * time.Millisecond, "vxlan", "round 40  ███████████████░ 100%  at most 1.2s left  vxlan"},
	} {
		if got := bar(c.round, c.spent, c.left, c.at); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	line := bar(1, time.Second, time.Second, "macvlan, 2 hosts, tcp_stream")
	for _, columns := range []int{1, 10, 39, 79, 500} {
		if n := utf8.RuneCountInString(cut(line, columns)); n > columns {
			t.Errorf("%d columns are %d", columns, n)
		}
	}
	if cut(line, -1) != line {
		t.Error("a terminal of unknown width must show the whole line")
	}
}
