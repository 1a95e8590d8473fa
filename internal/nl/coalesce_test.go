package nl

import (
	"testing"

	"nettoll/record"
)

// TestCoalesceThatAdapts has a card that adapts to the load when it receives.
func TestCoalesceThatAdapts(t *testing.T) {
	is := coalesce{rxUsecs: 3, rxFrames: 64, txUsecs: 8, txFrames: 32, adaptiveRx: 1}
	if got := is.told(); *got != (record.Coalesce{AdaptiveRx: true, TxUsecs: 8, TxFrames: 32}) {
		t.Errorf("%+v", got)
	}
}
