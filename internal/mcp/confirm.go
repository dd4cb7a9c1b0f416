package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// confirmInput is the argument with the token of an earlier call.
var confirmInput = input{name: "confirm", schema: rawjson.Value(
	`{"type":"string","description":"The token that the first call with the same arguments returned. It is good for 10 minutes."}`)}

// confirmWithin is how long a token is good.
const confirmWithin = 10 * time.Minute

// token returns a token that confirms a change of a tool to what stands in a record. It
// proves that the same client has seen the record as it is: whoever has the key could
// make the change without it, so it protects against mistakes and not against the client.
// Its key is the client's API key, so that every node, and a server on standard input,
// can check it without storing anything.
func (s *session) token(tool, subject string, until time.Time) string {
	expiry := strconv.FormatInt(until.Unix(), 36)
	mac := hmac.New(sha256.New, []byte("punctual mcp confirmation\n"+s.secret))
	mac.Write([]byte(tool + "\n" + expiry + "\n" + subject))
	return expiry + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// confirmed reports whether a token is one that this client was given for the same
// change, and is not too old.
func (s *session) confirmed(token, tool, subject string, now time.Time) bool {
	expiry, _, _ := strings.Cut(token, ".")
	seconds, err := strconv.ParseInt(expiry, 36, 64)
	if err != nil || len(token) > 100 {
		return false
	}
	until := time.Unix(seconds, 0)
	return now.Before(until) && until.Sub(now) <= confirmWithin && hmac.Equal([]byte(token), []byte(s.token(tool, subject, until)))
}

// confirm returns nil if the arguments confirm a change. Otherwise it returns what the
// change would do, with a token.
func (s *session) confirm(tool, subject string, a *arguments, r *result, effect string) (*result, error) {
	given, err := a.text(confirmInput.name)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if given != "" && s.confirmed(given, tool, subject, now) {
		return nil, nil
	}
	r.fact("changed", rawjson.Value("false"))
	r.fact("confirm", rawjson.Quote(s.token(tool, subject, now.Add(confirmWithin))))
	r.next = "Nothing was changed yet. " + effect + " If that is what the person you work for wants, call " + tool +
		" again with the same arguments and this token as confirm."
	if given != "" {
		r.next = "The token is too old, or belongs to another call. " + r.next
	}
	return r, nil
}

// cancelSchedule deletes a schedule after a confirmation.
func cancelSchedule(ctx context.Context, s *session, t *tool, a *arguments) (*result, error) {
	path, err := a.path(t.call.path)
	if err != nil {
		return nil, err
	}
	got, err := s.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	r := &result{data: got.data}
	id := r.text("id")
	// A key may name another schedule by then, so the record's id is deleted.
	first, err := s.confirm(t.name, string(got.data), a, r,
		"The call deletes schedule "+id+", which can't be undone, and cancels its pending run. Its jobs and logs stay.")
	if first != nil || err != nil {
		return first, err
	}
	if _, err := s.do(ctx, t.call.method, strings.Replace(t.call.path, "{schedule_id}", id, 1), "", nil); err != nil {
		return nil, err
	}
	r.fact("changed", rawjson.Value("true"))
	r.next = "Schedule " + id + " is deleted. data is what it was: create_schedule with its args creates it anew."
	return r, nil
}

// createSchedule creates a schedule, and nothing if the arguments are those of a job.
func createSchedule(ctx context.Context, s *session, t *tool, a *arguments) (*result, error) {
	if a.get("cron") == nil && a.get("repeat_every") == nil {
		return nil, complain("a schedule needs cron or repeat_every; for something that happens once, use create_job")
	}
	return s.callOnce(ctx, t, a)
}
