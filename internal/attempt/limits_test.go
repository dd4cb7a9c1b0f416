package attempt

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// TestLimited_SaysThePointsOfTheStartThatIsRecorded: a run that starts later than it was
// fired, because its process stood still, stands for the points that passed meanwhile.
func TestLimited_SaysThePointsOfTheStartThatIsRecorded(t *testing.T) {
	due := time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC)
	item := queueItem(1)
	item.Job.ScheduleID, item.Job.ScheduledAt, item.Job.DueAt, item.Job.InsertedAt = uuid.UUID{1}, due, due, due.Add(-time.Hour)
	item.Job.Args = rawjson.Value(`{"url":"https://x","repeat_every":1}`)
	item.Schedule = &job.Schedule{
		ID: uuid.UUID{1}, Owner: item.Job.Owner, InsertedAt: due.Add(-time.Hour), FirstDue: due, Args: item.Job.Args,
	}
	r, _ := runner(t, &picky{})
	a := &jobAttempt{runner: r, Attempt: lifecycle.Begin(item, due, nil)}
	a.StartsAt(due.Add(2 * time.Second))
	request, _ := a.limited(a.request(), func() bool {
		a.Restart(due.Add(5 * time.Second))
		return true
	})
	want := func(points string) {
		t.Helper()
		if !slices.Contains(request.Own, execute.Field{Name: pointsField, Value: points}) {
			t.Errorf("the request has the fields %v, want %s points", request.Own, points)
		}
	}
	want("3")
	if !request.Leave() {
		t.Error("the request may not leave")
	}
	want("6")
}
