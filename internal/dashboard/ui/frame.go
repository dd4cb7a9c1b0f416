package ui

// Page is what the frame around a page shows.
type Page struct {
	Title string
	// Area is the navigation entry that the page belongs to: "overview",
	// "jobs", "schedules", "logs", "settings", "operator" or "".
	Area string
	// Notice is the result of the previous action, shown once at the top.
	Notice string
	// Begun reports that the action has only begun: its result is not known yet.
	Begun bool
}

func (p Page) noticeTone() string {
	if p.Begun {
		return "busy"
	}
	return "good"
}

type navEntry struct{ area, path, label string }

var navEntries = []navEntry{
	{"overview", "/", "Overview"}, {"jobs", "/jobs", "Jobs"}, {"schedules", "/schedules", "Schedules"}, {"logs", "/attempts", "Logs"},
}
