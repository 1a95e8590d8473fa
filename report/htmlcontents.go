package report

// entryView is a line of the table of contents, with the parts below it.
type entryView struct {
	ID, Title string
	Parts     []entryView
}

// contents lists the parts of a page in its order.
func (v pageView) contents() []entryView {
	var all []entryView
	for _, g := range v.Groups {
		e := entryView{ID: g.ID, Title: g.Title}
		for _, part := range []struct {
			shown     bool
			id, title string
		}{
			{len(g.Missing) > 0, "missing", "what is missing"},
			{len(g.Charts) > 0, "charts", "charts"},
			{len(g.Rounds.Charts) > 0, "rounds", "round by round"},
			{len(g.Paths) > 0, "paths", "paths"},
			{len(g.Facts) > 0, "ends", "ends"},
		} {
			if part.shown {
				e.Parts = append(e.Parts, entryView{ID: g.ID + "-" + part.id, Title: part.title})
			}
		}
		all = append(all, e)
	}
	for _, s := range v.Sections {
		all = append(all, entryView{ID: s.ID, Title: s.Title})
	}
	for _, part := range []struct {
		shown     bool
		id, title string
	}{
		{len(v.Paths) > 0, "paths", "The path of each network"},
		{len(v.Findings) > 0, "findings", "What to doubt"},
		{true, "method", "How to read this"},
		{true, "machine", "Where it was measured"},
		{v.Trials.Rows != nil, "trials", "Every trial"},
	} {
		if !part.shown {
			continue
		}
		e := entryView{ID: part.id, Title: part.title}
		if part.id == "findings" {
			for _, g := range v.Findings {
				e.Parts = append(e.Parts, entryView{ID: g.ID, Title: lower(g.Title)})
			}
		}
		all = append(all, e)
	}
	return all
}
