package view

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// Rehearsal is the page that shows what the account's schedules will do in a month.
type Rehearsal struct {
	Month string // 2027-03
	Title string // March 2027
	// Previous and Following are the addresses of the months beside; "" for none.
	Previous, Following string
	Down, For           string // the texts of the inputs for an outage
	Problem             string // what is wrong with the request; "" if nothing is
	Weeks               [][]CalendarDay
	Rows                []RehearsedRow
	MoreRows            int // schedules that Rows does not have
	Busiest             []BusyMinute
	Findings            []Finding
	Cut                 string // why the result ends early; "" if it is complete
}

// CalendarDay is a day of the calendar. Day is 0 for one of another month.
type CalendarDay struct {
	Day       int
	Past      bool
	Runs      int64
	Schedules []DaySchedule // those with most runs
	More      int           // further schedules
}

// DaySchedule is what a schedule does on a day.
type DaySchedule struct {
	Name string
	Runs int64
}

// RehearsedRow is what a schedule does in the month.
type RehearsedRow struct {
	Name, Href                                     string
	Runs, Failed, Expired, Late, Skipped, Overlaps int64
	Limited                                        string // "" if no limit holds it back
	First                                          time.Time
	Ends                                           string // "" if it goes on
}

// BusyMinute is a minute in which many runs start.
type BusyMinute struct {
	At   time.Time
	Runs int64
}

// Finding is something that a person may want to change.
type Finding struct {
	Name, Message string
}

// RunsChange is how an edit changes the runs of a schedule.
type RunsChange struct {
	Before, After         RunsOf
	Added, Dropped, Moved int64
	Findings              []Finding
}

// RunsOf is when a schedule runs.
type RunsOf struct {
	Next time.Time // zero if it does not run
	Rate string    // "720 a day"
}

func (d CalendarDay) label() string {
	return strconv.Itoa(d.Day) + ": " + ui.Plural(int(d.Runs), "run", "runs")
}

func (c *RunsChange) counts() string {
	if c.Added == 0 && c.Dropped == 0 && c.Moved == 0 {
		return "The runs of the next year stay as they are."
	}
	return "In the next year: " + ui.Count(c.Added) + " more, " + ui.Count(c.Dropped) + " less, " + ui.Count(c.Moved) + " at another time."
}

// days are the names of the days of the week, as the calendar shows them.
var days = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
