package record_test

import (
	"errors"
	"slices"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func TestTry(t *testing.T) {
	failed := errors.New("two")
	var called []int
	do := func(n int) error {
		called = append(called, n)
		if n == 2 {
			return failed
		}
		return nil
	}
	if err := record.Try([]int{1, 2, 3}, do); err != failed || !slices.Equal(called, []int{1, 2}) {
		t.Errorf("%v after %v", err, called)
	}
	iferr.Error(t, record.Try([]int{1, 3}, do))
}

func TestMost(t *testing.T) {
	same := func(n int) int { return n }
	for want, all := range map[int][]int{9: {3, 9, 2}, 0: {-3, -1}, 4: {4}} {
		if got := record.Most(all, same); got != want {
			t.Errorf("the most of %v is %d", all, got)
		}
	}
}
