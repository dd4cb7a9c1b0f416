package dashboard

import (
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/service"
)

// preview is when a request would be made, and the zone in which it is shown.
type preview struct {
	*service.Preview
	zone *time.Location
}

// zone returns the time zone of the request, or of the form if the request has
// none; UTC if it is unknown.
func (f *jobForm) zone() *time.Location {
	name := f.value("zone")
	if v := rawjson.Get(f.body, "timezone"); v != nil {
		name = rawjson.Text(v)
	}
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
