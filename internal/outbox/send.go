package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// callWithin is how long a call may take.
	callWithin = 60 * time.Second
	// maxJob is how many bytes a job may have.
	maxJob = 1 << 20
	// maxAnswer bounds what is read of a response.
	maxAnswer = 64 << 20
	// maxRetryAfter bounds the pause that the service asks for.
	maxRetryAfter = time.Minute
	// maxProblem bounds the problem that is stored with a row.
	maxProblem = 64 << 10
)

// unknownProblem is the problem of rows that were sent and had no answer.
const unknownProblem = `{"reason":"unknown","title":"Unknown","detail":"the row was sent and had no answer for 6 days, so whether its job was created is not known; look for it in the service, then insert the row again or delete it"}`

// hold is why rows wait.
type hold struct {
	reason string
	cause  string // a label: unauthorized, forbidden, rate, unavailable, unreachable or refused
	after  time.Duration
	sent   bool // they may be stored
	none   bool // the service knows all of them, and has stored none
}

func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 10 * time.Second}).DialContext
	transport.MaxIdleConnsPerHost = 2
	return &http.Client{
		Transport: transport, Timeout: callWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send creates the jobs of a batch, all of which are readable. It adds the rows that were
// answered or refused for good to done, and returns the others, in order, with why they
// wait.
func (r *Relay) send(ctx context.Context, batch []row, done *turn) ([]row, *hold) {
	if len(batch) == 0 {
		return nil, nil
	}
	answer, h := r.post(ctx, batch)
	if h == nil && answer.refused != "" {
		// The body as a whole was refused. One of the rows is the cause.
		if len(batch) == 1 {
			done.failed = append(done.failed, failure{batch[0].withoutJob(), answer.refused})
			return nil, nil
		}
		first, held := r.send(ctx, batch[:len(batch)/2], done)
		if held != nil {
			held.none = false // the others were not sent
			return append(first, batch[len(batch)/2:]...), held
		}
		return r.send(ctx, batch[len(batch)/2:], done)
	}
	if h != nil {
		return batch, h
	}
	var rest []row
	none := true
	for i, item := range answer.items {
		switch status := item.status; {
		case status == http.StatusOK || status == http.StatusCreated || status == http.StatusGone:
			done.answered = append(done.answered, batch[i].withoutJob())
			r.stored(status, batch[i].createdAt)
		case waits(status):
			rest, h = append(rest, batch[i]), holdOf(status, detailOf(item.problem))
			none = none && status == http.StatusTooManyRequests // what is stored is answered at a limit, too
			h.none = none
		default:
			done.failed = append(done.failed, failure{batch[i].withoutJob(), bounded(item.problem, status)})
		}
	}
	return rest, h
}

// waits reports whether a refusal may pass: the row stays.
func waits(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status < 400 || status >= 500
}

func holdOf(status int, detail string) *hold {
	h := &hold{reason: fmt.Sprintf("the service responded %d: %s", status, detail), cause: "unavailable",
		sent: status >= 500 || status < 300}
	switch status {
	case http.StatusUnauthorized:
		h.cause = "unauthorized"
	case http.StatusForbidden:
		h.cause = "forbidden"
	case http.StatusTooManyRequests:
		h.cause = "rate"
	default:
		if status >= 300 && status < 500 {
			h.cause = "refused"
		}
	}
	return h
}

// readable takes out the rows that can't be items of a batch.
func (r *Relay) readable(batch []row, done *turn) []row {
	var rest []row
	for i := range batch {
		if detail := unreadable(batch[i].job); detail != "" {
			problem, _ := json.Marshal(map[string]any{"type": "about:blank", "title": "Unprocessable Content", "status": 422,
				"detail": detail})
			done.failed = append(done.failed, failure{batch[i].withoutJob(), string(problem)})
			continue
		}
		rest = append(rest, batch[i])
	}
	return rest
}

// unreadable returns why a job can't be an item; "" if it can.
func unreadable(text []byte) string {
	if len(text) > maxJob {
		return fmt.Sprintf("the job has %d bytes; at most %d are allowed", len(text), maxJob)
	}
	v, err := rawjson.Read(text)
	switch {
	case err != nil:
		return "the job is not readable JSON: " + err.Error()
	case v.Kind() != '{':
		return "the job must be a JSON object with the fields of a job"
	case rawjson.Get(v, "request_id") != nil:
		return "request_id is the row's id; leave it out"
	}
	return ""
}

// appendItem appends a job with the id of its row.
func appendItem(b []byte, r *row) []byte {
	text := bytes.TrimSpace(r.job)
	b = append(b, `{"request_id":"`...)
	b = append(b, r.id...)
	b = append(b, '"')
	if rest := bytes.TrimSpace(text[1:]); rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, text[1:]...)
}

// answer is what the service responded to a batch.
type answer struct {
	items   []item
	refused string // the problem with the body as a whole
}

type item struct {
	status  int
	problem []byte
}

// readItems reads a response with n items. It reports false if it is none. The next
// batch waits for it, and to decode it takes more than twice as long.
func readItems(text []byte, n int) (items []item, ok bool) {
	c := rawjson.Walk(text)
	if c.Kind() != '{' || !json.Valid(text) {
		return nil, false
	}
	items = make([]item, 0, n)
	for c.Enter(); c.More(); {
		if name := c.Name(); string(name) != `"data"` || c.Kind() != '[' {
			c.Value()
			continue
		}
		for c.Enter(); c.More(); {
			i, ok := readItem(c)
			if !ok || len(items) == n {
				return nil, false
			}
			items = append(items, i)
		}
	}
	return items, len(items) == n
}

func readItem(c *rawjson.Cursor) (i item, ok bool) {
	if c.Kind() != '{' {
		return i, false
	}
	for c.Enter(); c.More(); {
		name, value := c.Name(), c.Value()
		var err error
		switch string(name) {
		case `"status"`:
			i.status, err = strconv.Atoi(string(value))
		case `"problem"`:
			i.problem = value
		}
		if err != nil {
			return i, false
		}
	}
	return i, true
}

func (r *Relay) post(ctx context.Context, batch []row) (*answer, *hold) {
	body := make([]byte, 0, sizeOf(batch)+len(batch)*envelope+2)
	for i := range batch {
		body = appendItem(append(body, "[,"[min(i, 1)]), &batch[i])
	}
	body = append(body, ']')
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(r.Service, "/")+"/api/jobs/batch?atomic=false",
		bytes.NewReader(body))
	if err != nil {
		return nil, &hold{reason: "the URL of the service can't be used: " + err.Error(), cause: "unreachable"}
	}
	if r.Host != "" {
		request.Host = r.Host
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+r.Key)
	request.Header.Set("Prefer", "return=minimal, keep-order")
	request.Header.Set("User-Agent", "punctual-outbox")
	got, err := r.Client.Do(request)
	if err != nil {
		var network *net.OpError
		return nil, &hold{reason: "the service can't be reached: " + err.Error(), cause: "unreachable",
			sent: !errors.As(err, &network) || network.Op != "dial"}
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return nil, &hold{reason: "the response of the service was cut off or is too large", cause: "unavailable", sent: true}
	}
	return read(got, text, len(batch))
}

// read reads the response to a batch of n rows.
func read(got *http.Response, text []byte, n int) (*answer, *hold) {
	if got.StatusCode == http.StatusOK {
		items, ok := readItems(text, n)
		if !ok {
			return nil, &hold{reason: "what responds is not punctual, or a version without batches", cause: "refused", sent: true}
		}
		return &answer{items: items}, nil
	}
	isProblem := strings.HasPrefix(got.Header.Get("Content-Type"), "application/problem+json")
	switch got.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if isProblem {
			return &answer{refused: bounded(text, got.StatusCode)}, nil
		}
	}
	detail := "no problem of punctual; is the URL right?"
	if isProblem {
		detail = detailOf(text)
	}
	h := holdOf(got.StatusCode, detail)
	if seconds, err := strconv.Atoi(got.Header.Get("Retry-After")); err == nil && seconds > 0 {
		h.after = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	return nil, h
}

func detailOf(problem []byte) string {
	var p struct{ Detail string }
	_ = json.Unmarshal(problem, &p) // "" if it is none
	return p.Detail[:min(len(p.Detail), 500)]
}

// bounded returns a problem as it is stored.
func bounded(problem []byte, status int) string {
	if len(problem) == 0 || len(problem) > maxProblem || !json.Valid(problem) {
		short, _ := json.Marshal(map[string]any{"status": status, "detail": detailOf(problem)})
		return string(short)
	}
	return string(problem)
}
