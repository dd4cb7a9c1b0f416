package dashboard

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/service"
)

// preview is when a request would be made, and the zone to tell it in.
type preview struct {
	*service.Preview
	zone *time.Location
}

// timingNames are the members of a request that say when.
var timingNames = map[string]bool{"schedule_in": true, "scheduled_at": true, "repeat_every": true, "cron": true, "timezone": true}

// preview tells when a request would be made, whatever else is wrong with it;
// nil when its timing is.
func (s *Server) preview(f *jobForm) *preview {
	if f.problems["when"] != "" || f.body.Kind() != '{' {
		return nil
	}
	members := []rawjson.Member{{Name: "url", Value: rawjson.Value(`"https://example.com"`)}}
	name := f.value("zone")
	for _, m := range rawjson.Members(f.body) {
		if timingNames[m.Name] {
			members = append(members, m)
		}
		if m.Name == "timezone" {
			name = rawjson.Text(m.Value)
		}
	}
	// There are no headers, so nothing of an account is looked up.
	found, err := s.Manager.Preview(context.Background(), job.Owner{}, rawjson.Object(members), nil)
	if err != nil {
		return nil
	}
	zone, err := schedule.LoadZone(name)
	if err != nil {
		zone = time.UTC
	}
	return &preview{found, zone}
}
