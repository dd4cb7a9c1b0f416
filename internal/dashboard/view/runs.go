package view

import (
	"net/url"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// WorkflowRuns is a list of runs of workflows.
type WorkflowRuns struct {
	Runs         []*workflow.Run
	State, Label string // the filters; "" for none
	Now          time.Time
	First, Next  string
}

// WorkflowRun is the page of a run.
type WorkflowRun struct {
	*workflow.Run
	Steps  *Waterfall
	Now    time.Time
	Self   string // the address of the live part
	Notice string
}

var runChoices = []ui.Choice{
	{Value: "", Label: "Any state"}, {Value: "started", Label: "Running"}, {Value: "waiting", Label: "Waiting"},
	{Value: "succeeded", Label: "Succeeded"},
	{Value: "failed", Label: "Failed"}, {Value: "cancelled", Label: "Cancelled"},
}

var runLooks = map[workflow.State]stepLook{
	workflow.Started: {"busy", "play", "Running"}, workflow.Waiting: {"calm", "clock", "Waiting"},
	workflow.Succeeded: {"good", "check", "Succeeded"},
	workflow.Failed:    {"bad", "cross", "Failed"}, workflow.Cancelled: {"calm", "minus", "Cancelled"},
}

func (list *WorkflowRuns) filtered() bool { return list.State != "" || list.Label != "" }

// runPath returns the address of a run's page, or of what can be done with it.
func runPath(id, rest string) string { return "/runs/" + url.PathEscape(id) + rest }

// runLength says how long a run took, or has taken.
func runLength(r *workflow.Run, now time.Time) string {
	if r.State.Live() {
		return ui.Millis(max(0, now.Sub(r.CreatedAt))) + " so far"
	}
	return ui.Millis(max(0, r.EndedAt.Sub(r.CreatedAt)))
}

// labelsShown is how many labels of a run a page shows.
const labelsShown = 10

// runLabels returns labels of a run as links to the runs that have them.
func runLabels(r *workflow.Run) []ui.Chip {
	labels := r.LabelList()
	var chips []ui.Chip
	for _, label := range labels[:min(len(labels), labelsShown)] {
		chips = append(chips, ui.Chip{Text: ui.Shorten(label, 60), Href: "/runs?label=" + url.QueryEscape(label)})
	}
	return chips
}

// invokedBy returns the id of the run that waits for this one; "" for none.
func invokedBy(r *workflow.Run) string { return rawjson.Text(rawjson.Get(r.Invoker, "run")) }
