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
	// Scripts are the scripts that the page loads besides those of every page.
	Scripts []string
}

// The scripts of some pages: Htmx is for parts with the attributes of htmx.
const (
	Htmx        = "htmx.min.js"
	QueryScript = "query.js"
	PeekScript  = "peek.js"
)

func (p Page) noticeTone() string {
	if p.Begun {
		return "busy"
	}
	return "good"
}

// navEntry is an entry of the navigation. The keys g and key lead to it.
type navEntry struct{ area, path, label, key string }

var navEntries = []navEntry{
	{"overview", "/", "Overview", "o"}, {"jobs", "/jobs", "Jobs", "j"}, {"schedules", "/schedules", "Schedules", "s"},
	{"logs", "/attempts", "Logs", "l"},
}
