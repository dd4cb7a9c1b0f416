package attempt

import (
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Deliveries of an earlier version can lack the value of an absent query, in their own
// text or in the log that they refer to.
func TestWhole_AddsAQueryThatIsMissing(t *testing.T) {
	const payload = `{"body":1,"headers":{},"query":,"url":"https://x"}`
	const want = `{"request":{"body":1,"headers":{},"query":{},"url":"https://x"}}`
	id := uuid.New()
	r := &Runner{Config: Config{Logs: oneLog{job.Log{ID: id, Payload: rawjson.Value(payload)}}}}
	for name, d := range map[string]*job.Delivery{
		"whole": {Body: rawjson.Value(`{"request":` + payload + `}`)},
		"parts": {Body: rawjson.Value(`{"request":}`), Parts: []job.Part{{At: len(`{"request":`), Log: id, To: len(payload)}}},
	} {
		if got, err := r.whole(t.Context(), d); err != nil || string(got) != want {
			t.Errorf("%s: the body is %s, %v", name, got, err)
		}
	}
}
