package virtual

import (
	"fmt"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Path is where programs move the time.
const Path = "/api/dev/advance"

// API serves Path: POST with {"by": DURATION} moves the time and responds with
// {"data": {"now", "until", "complete"}}.
type API struct{ *Mover }

// Find implements httpapi.Foreign.
func (a API) Find(r *http.Request) httpapi.ForeignRoute {
	if r.Method != http.MethodPost {
		return httpapi.ForeignRoute{Name: Path, Serve: func(c *httpapi.ForeignCall) error {
			c.Header().Set("Allow", http.MethodPost)
			return fault.New(fault.MethodNotAllowed, "this path does not support "+r.Method+"; use POST")
		}}
	}
	return httpapi.ForeignRoute{Name: Path, Serve: a.advance}
}

// Fail implements httpapi.Foreign.
func (a API) Fail(w http.ResponseWriter, _ *http.Request, _ int, f *fault.Error) {
	httpapi.WriteProblem(w, f)
}

func (a API) advance(c *httpapi.ForeignCall) error {
	body, err := c.ReadAll(1 << 20)
	if err != nil {
		return err
	}
	by, err := readAdvance(body)
	if err != nil {
		return err
	}
	now, until, err := a.Advance(c.Request.Context(), by)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", "application/json")
	c.WriteHeader(http.StatusOK)
	// Fails only if the client is gone.
	_, _ = fmt.Fprintf(c, `{"data":{"now":"%s","until":"%s","complete":%t}}`,
		job.FormatTime(now), job.FormatTime(until), !now.Before(until))
	return nil
}

// readAdvance reads how far the time is to be moved.
func readAdvance(body []byte) (by time.Duration, err error) {
	v, err := rawjson.Read(body)
	if err != nil {
		return 0, fault.New(fault.Unreadable, "the body is not readable JSON: "+err.Error())
	}
	var problems []fault.Problem
	refuse := func(pointer, detail string) {
		problems = append(problems, fault.Problem{Pointer: pointer, Detail: detail})
	}
	if v.Kind() != '{' {
		refuse("#", "must be an object")
	} else if given := rawjson.Get(v, "by"); given == nil {
		refuse("#/by", "must be given")
	} else {
		by, _ = job.ReadDuration(given, "#/by", time.Microsecond, MaxAdvance, refuse)
	}
	for _, m := range rawjson.Members(v) {
		if m.Name != "by" {
			refuse(job.Pointer(m.Name), "is not a known field; the one that is known is by")
		}
	}
	if len(problems) > 0 {
		return 0, fault.Refuse(problems)
	}
	return by, nil
}
