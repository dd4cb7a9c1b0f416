package dashboard

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// duesShown is how many due times a preview has.
const duesShown = 5

// preview is what a request comes to in time.
type preview struct {
	words string
	next  []time.Time
}

// timing are the members of a request that say when.
var timingNames = map[string]bool{"schedule_in": true, "scheduled_at": true, "repeat_every": true, "cron": true, "timezone": true}

// preview tells when a request would be made, whatever else is wrong with it;
// nil when its timing is.
func (s *Server) preview(body rawjson.Value, now time.Time, understood bool) *preview {
	if !understood || body.Kind() != '{' {
		return nil
	}
	members := []rawjson.Member{{Name: "url", Value: rawjson.Value(`"https://example.com"`)}}
	for _, m := range rawjson.Members(body) {
		if timingNames[m.Name] {
			members = append(members, m)
		}
	}
	draft, err := job.Read(rawjson.Object(members), job.ReadOptions{Now: now})
	if err != nil {
		return nil
	}
	p := &preview{next: []time.Time{draft.DueAt}}
	for draft.Frequency != nil && len(p.next) < duesShown {
		due := p.next[len(p.next)-1]
		if due = draft.Frequency.Next(draft.ScheduledAt, due); due.IsZero() {
			break
		}
		p.next = append(p.next, due)
	}
	return p
}

func storeJobID(number int64) store.JobID { return store.JobID{Number: number} }
