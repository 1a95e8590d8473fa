package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"nettoll/docker/engine"
	"nettoll/platform/lab"
)

// judgement is a part that judges the instrument itself, by what it says of networks whose
// truth is known otherwise. It takes long, and is done only when it is named: NAME, or NAME=N
// for another size than the usual one. With keep=FOLDER its run files stay there, and what is there
// already is not measured again, so that hours of it can be done in parts.
type judgement struct {
	name   string
	usual  int  // size: see its function
	inside bool // it builds networks itself, in a lab
	do     func(context.Context, *judging) error
}

func judgements() []judgement {
	return []judgement{
		{name: "equivalence", usual: 10, inside: true, do: equivalence},
		{name: "alone", usual: 6, do: aloneQuick},
		{name: "alone-full", usual: 2, do: aloneFull},
		{name: "rates", usual: 6, do: rates},
		{name: "slower", usual: 10, inside: true, do: slower},
		{name: "twins", usual: 2000, do: twins},
		{name: "busy", usual: 10, do: busy},
	}
}

// judging is a judgement at work.
type judging struct {
	judgement
	size    int
	program string // nettoll; "" inside a lab
	dir     string // of run files
	keep    string // where they stay; "" is nowhere
	steps
}

// judge does what arguments name of the judgements, and reports whether they name any. What
// needs a lab is done last, by this program started once more.
func judge(ctx context.Context, args []string) (did bool, err error) {
	all, err := wantedJudgements(args)
	if len(all) == 0 || err != nil {
		return err != nil, err
	}
	dir, err := os.MkdirTemp("", "nettoll-bench-*")
	if err != nil {
		return true, err
	}
	defer os.RemoveAll(dir)
	program, needsLab := "", false
	for _, j := range all {
		j.dir = dir
		if needsLab = needsLab || j.inside; j.inside != lab.Inside() {
			continue
		}
		if j.inside {
			err = lab.Prepare()
		} else if program == "" {
			program, err = compiled(ctx, dir)
		}
		if j.program = program; err != nil {
			return true, err
		}
		if err := j.do(ctx, j); err != nil {
			return true, fmt.Errorf("%s: %w", j.name, err)
		}
	}
	if !needsLab || lab.Inside() {
		return true, nil
	}
	status, err := lab.Enter(lab.EnterOptions{Remove: engine.RemoveCgroups})
	if err == nil && status != 0 {
		err = fmt.Errorf("in the lab: exit status %d", status)
	}
	return true, err
}

// wantedJudgements reads them off arguments, none where others are named.
func wantedJudgements(args []string) (all []*judging, err error) {
	keep, others := "", []string{}
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		found := name == "keep"
		if found {
			keep = value
		}
		for _, j := range judgements() {
			if j.name != name {
				continue
			}
			found = true
			size := j.usual
			if given {
				if size, err = strconv.Atoi(value); err != nil || size < 1 {
					return nil, fmt.Errorf("%s: the size must be a number above 0", arg)
				}
			}
			all = append(all, &judging{judgement: j, size: size})
		}
		if !found {
			others = append(others, arg)
		}
	}
	if len(all) > 0 && len(others) > 0 {
		return nil, fmt.Errorf("%s cannot be done together with %s", all[0].name, strings.Join(others, " "))
	}
	for _, j := range all {
		j.keep = keep
	}
	return all, nil
}

// verdict words whether an aim was met.
func verdict(met bool, missed string) string {
	if met {
		return "met"
	}
	return "MISSED (" + missed + ")"
}
