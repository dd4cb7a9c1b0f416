package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// far is a due time that no test reaches.
const far = "2031-05-06T07:08:09Z"

// soon is when something has happened that happens at once. Tests wait longer for it
// (see [harness.Eventually]), because the machine may be slow or busy with other tests.
const soon = 10 * time.Second

// afterKill bounds how long attempts that were under way at a kill take to start
// again: on PostgreSQL other nodes wait up to 20 seconds for the node.
const afterKill = 3 * soon

// waiting is a job that stays available.
const waiting = `{"url":"https://example.com/hook","scheduled_at":"` + far + `"}`

// account creates an account on the shared service.
func account(t *testing.T) *harness.Account {
	t.Helper()
	return harness.Shared(t).Account(t)
}

// create stores a job and gives its record.
func create(c *harness.Client, body string) harness.JSON {
	return c.Post("/api/jobs", body).Want(201).Data()
}

// jobPath is the path of a job's record.
func jobPath(record harness.JSON) string {
	return fmt.Sprintf("/api/jobs/%d", record.Get("job_id").Int())
}

// awaitState polls a job until it has a state, and returns the record.
func awaitState(t *testing.T, c *harness.Client, record harness.JSON, state string) harness.JSON {
	t.Helper()
	var got harness.JSON
	if !harness.Within(soon, func() bool {
		got = c.Get(jobPath(record)).Want(200).Data()
		return got.Get("job.state").Str() == state
	}) {
		t.Fatalf("the job is not %s: %s", state, got.Raw())
	}
	return got
}

// with adds members to a JSON object; both are written as source text.
func with(object, members string) string {
	if members == "" {
		return object
	}
	return object[:len(object)-1] + "," + members + "}"
}

// sameJSON reports whether two texts are the same value in the strict sense:
// equal member order, equal number literals, equal strings.
func sameJSON(a, b harness.JSON) bool {
	da := jsontext.NewDecoder(bytes.NewReader(a), jsontext.AllowDuplicateNames(true))
	db := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	for {
		ta, erra := da.ReadToken()
		if erra == nil {
			ta = ta.Clone()
		}
		tb, errb := db.ReadToken()
		if erra != nil || errb != nil {
			return errors.Is(erra, io.EOF) && errors.Is(errb, io.EOF)
		}
		if ta.Kind() != tb.Kind() || ta.String() != tb.String() {
			return false
		}
	}
}

func wantSame(t *testing.T, what string, got harness.JSON, want string) {
	t.Helper()
	if !sameJSON(got, harness.JSON(want)) {
		t.Errorf("%s\n got %s\nwant %s", what, got.Raw(), want)
	}
}

func wantKeys(t *testing.T, what string, got harness.JSON, want ...string) {
	t.Helper()
	if !slices.Equal(got.Keys(), want) {
		t.Errorf("%s has keys\n got %q\nwant %q", what, got.Keys(), want)
	}
}

// Patterns of what records carry.
var (
	uuidPattern    = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	secondsPattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`)
	zonedPattern   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	microsPattern  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
)

func wantMatch(t *testing.T, what string, got harness.JSON, pattern *regexp.Regexp) {
	t.Helper()
	if !pattern.MatchString(got.Str()) {
		t.Errorf("%s is %s, want a match of %s", what, got.Raw(), pattern)
	}
}

// instant parses a timestamp of a record.
func instant(t *testing.T, value harness.JSON) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", value.Str())
	if err != nil {
		t.Fatalf("not a timestamp with six digits and Z: %s", value.Raw())
	}
	return at
}

// wantBetween fails the test unless a timestamp is in a span; a little
// tolerance allows for clocks of different resolution.
func wantBetween(t *testing.T, what string, got, from, to time.Time) {
	t.Helper()
	if got.Before(from.Add(-time.Millisecond)) || got.After(to.Add(time.Millisecond)) {
		t.Errorf("%s is %s, want it from %s to %s", what, got, from.UTC(), to.UTC())
	}
}

// quote writes a string as JSON.
func quote(s string) string {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return strconv.Quote(s) // invalid UTF-8: only ever shown
	}
	return string(text)
}
