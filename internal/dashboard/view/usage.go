package view

// UsagePage is the page of what an account uses of its limits.
type UsagePage struct {
	Groups    []UsageGroup
	Retention string // how long final jobs are kept
	Suspended string // why the account is suspended; "" if it is not
}

// UsageGroup are limits of one kind.
type UsageGroup struct {
	Title, About string
	Rows         []UsageRow
}

// UsageRow is a limit, what the account uses of it, and what happens at it.
type UsageRow struct {
	Name  string
	Used  string // "12"; "" if it is unknown
	Limit string // "1,000"; "" if it is unlimited
	Bound string // what happens at the limit
	Href  string // the page of what is counted; "" for none
	// Percent is how much of the limit is used, 0 to 100; -1 if it is unlimited or the
	// use is unknown.
	Percent int
}

// The percentages of a limit from which its row warns, and says that it is reached.
const (
	nearlyFull = 80
	full       = 100
)

// tone returns the tone of the row's badge; "" without a badge.
func (r *UsageRow) tone() string {
	switch {
	case r.Percent >= full:
		return "bad"
	case r.Percent >= nearlyFull:
		return "warn"
	}
	return ""
}

// status returns the text of the row's badge.
func (r *UsageRow) status() string {
	if r.Percent >= full {
		return "limit reached"
	}
	return "nearly reached"
}

// text returns the use and the limit: "12 of 1,000", "12, no limit".
func (r *UsageRow) text() string {
	switch {
	case r.Limit != "" && r.Used != "":
		return r.Used + " of " + r.Limit
	case r.Limit != "":
		return "at most " + r.Limit
	case r.Used != "":
		return r.Used + ", no limit"
	}
	return "no limit"
}

// hint returns what happens at the limit.
func (r *UsageRow) hint() string {
	if r.Limit == "" {
		return "The operator has set no limit."
	}
	return r.Bound
}
