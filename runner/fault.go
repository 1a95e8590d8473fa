package runner

import (
	"context"
	"errors"
	"time"

	"nettoll/network"
	"nettoll/record"
)

// faultTime bounds the search for what is wrong with a network.
const faultTime = 10 * time.Second

// fault asks the network whether something that it needs has broken, and notes it on
// the trial: as the reason of one that failed, as a doubt on one that did not. A network
// that carries its payload in another way than it claims makes the trial invalid.
// The error is what broke, if the trial failed with it: no other would fare better.
func (s *session) fault(ctx context.Context, t *record.Trial) error {
	if t.Status == record.Skipped {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), faultTime)
	defer cancel()
	err := s.network.Broken(ctx)
	var wrong *network.WrongPath
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		t.Reason = joined(wrong.Finding, t.Reason)
		if t.Status == record.OK {
			t.Status = record.Invalid
		}
		return nil
	case t.Status == record.Failed:
		t.Reason = joined(oneLine(err), t.Reason)
		return err
	default:
		t.Warnings = append(t.Warnings, record.Warning{Code: "network-fault", Text: oneLine(err)})
		return nil
	}
}

// joined puts what is known before what was seen of it.
func joined(cause, seen string) string {
	if seen == "" {
		return cause
	}
	return cause + " (seen as: " + seen + ")"
}
