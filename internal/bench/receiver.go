package bench

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The events of a job that succeeds at once, in the order in
// which webhook events are sent; the callback comes when it may.
const (
	messageStarted = iota
	messageRequest
	messageResponse
	messageFinished
	messageCallback
	messagesPerJob
)

var events = map[string]int{
	"job.started": messageStarted, "job.request": messageRequest, "job.response": messageResponse, "job.finished": messageFinished,
}

const (
	pathCallback = "/callback/"
	pathWebhook  = "/webhook/"
)

// receipts are the messages that have come in for the jobs of a round.
type receipts struct {
	first    int64
	seen     [][messagesPerJob]receipt
	distinct atomic.Int64
	repeated atomic.Int64
}

type receipt struct {
	times atomic.Int32
	at    atomic.Int64 // first, in nanoseconds since 1970
}

func newReceipts(first int64, n int) *receipts {
	return &receipts{first: first, seen: make([][messagesPerJob]receipt, n)}
}

// hooks returns the members of a create that send a job's callback and events here.
func hooks(url string, number int64) string {
	return fmt.Sprintf(`,"callback_url":"%s%s%d","webhook_url":"%s%s%d"`, url, pathCallback, number, url, pathWebhook, number)
}

// receive notes a message, and reports whether it is one of the round's.
func (r *receipts) receive(path string, body []byte, at time.Time) bool {
	message := messageCallback
	digits, ok := strings.CutPrefix(path, pathCallback)
	if !ok {
		if digits, ok = strings.CutPrefix(path, pathWebhook); !ok {
			return false
		}
		if message, ok = events[eventOf(body)]; !ok {
			return false
		}
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < r.first || number >= r.first+int64(len(r.seen)) {
		return false
	}
	one := &r.seen[number-r.first][message]
	if one.times.Add(1) > 1 {
		r.repeated.Add(1)
		return true
	}
	one.at.Store(at.UnixNano())
	r.distinct.Add(1)
	return true
}

// eventOf reads the type from the beginning of a webhook's body.
func eventOf(body []byte) string {
	rest, ok := bytes.CutPrefix(body, []byte(`{"type":"`))
	if !ok {
		return ""
	}
	name, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(name)
}

// missing counts the messages that did not come, and disordered the jobs whose
// events came in another order than they happened.
func (r *receipts) check() (missing, disordered int) {
	for i := range r.seen {
		before, inOrder := int64(0), true
		for message := range messagesPerJob {
			one := &r.seen[i][message]
			at := one.at.Load()
			if one.times.Load() == 0 {
				missing++
			} else if message != messageCallback {
				inOrder = inOrder && at >= before
				before = at
			}
		}
		if !inOrder {
			disordered++
		}
	}
	return missing, disordered
}

// delays returns how long after a job's own request one of its messages came,
// in milliseconds.
func (r *receipts) delays(jobs *round, message int) (ms []float64) {
	for i := range r.seen {
		came, request := r.seen[i][message].at.Load(), jobs.seen[i].at.Load()
		if came > 0 && request > 0 {
			ms = append(ms, float64(came-request)/float64(time.Millisecond))
		}
	}
	return ms
}
