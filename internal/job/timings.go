package job

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Phase is a part of the exchange of an attempt.
type Phase int

// The parts of an exchange, in the order in which they follow each other. ConnectPhase is
// also the wait for a connection that is in use, SendPhase what precedes the first byte,
// and ReadPhase ends with the response's last byte. Over HTTP/2, WaitPhase includes the
// sending.
const (
	DNSPhase Phase = iota
	ConnectPhase
	TLSPhase
	SendPhase
	WaitPhase
	ReadPhase
)

// Timings are how long the parts of an exchange took, those of all redirects together.
// They are 0 for what didn't happen, and all of them if nothing was measured.
type Timings [ReadPhase + 1]time.Duration

// timingsMember begins the timings in the payload of a log. The API doesn't show them: the
// payloads of logs have the members that its document says.
const timingsMember = `,"timings":[`

// AppendTimings appends the timings to the payload of a log, if there are any. They must
// follow duration_ms.
func AppendTimings(b []byte, t Timings) []byte {
	if t == (Timings{}) {
		return b
	}
	b = append(b, timingsMember...)
	for i, d := range t {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendMillis(b, d)
	}
	return append(b, ']')
}

// findTimings returns where the timings in the payload of an outcome's log begin and end;
// false if it has none. What a target has sent precedes duration_ms, so it can't look like
// timings.
func findTimings(payload []byte) (begin, end int, found bool) {
	begin = bytes.LastIndex(payload, []byte(timingsMember))
	if begin < 0 || bytes.Contains(payload[begin:], []byte(`"duration_ms":`)) {
		return 0, 0, false
	}
	length := bytes.IndexByte(payload[begin:], ']')
	if length < 0 {
		return 0, 0, false
	}
	return begin, begin + length + 1, true
}

// TrimTimings returns the members of an outcome's payload without the timings that they
// end with, if they do. Deliveries show a response without them.
func TrimTimings(members []byte) []byte {
	if begin, end, found := findTimings(members); found && end == len(members) {
		return members[:begin]
	}
	return members
}

// ReadTimings returns the timings in the payload of an outcome's log; zero if it has none.
func ReadTimings(payload rawjson.Value) (t Timings) {
	begin, end, found := findTimings(payload)
	if !found {
		return t
	}
	texts := strings.Split(string(payload[begin+len(timingsMember):end-1]), ",")
	for i := range min(len(texts), len(t)) {
		ms, _ := strconv.ParseFloat(texts[i], 64)
		t[i] = time.Duration(ms * float64(time.Millisecond)).Round(time.Microsecond)
	}
	return t
}

// WithoutTimings returns the payload of a log of an event as the API shows it.
func WithoutTimings(event string, payload rawjson.Value) rawjson.Value {
	payload = Complete(payload)
	return appendWithoutTimings(make(rawjson.Value, 0, len(payload)), event, payload)
}

// appendWithoutTimings leaves the payloads of other events than outcomes as they are: the
// log of a request ends with what a client has sent.
func appendWithoutTimings(b []byte, event string, payload rawjson.Value) []byte {
	begin, end, found := findTimings(payload)
	if !found || event != EventResponse && event != EventError && event != EventCompletion {
		return append(b, payload...)
	}
	return append(append(b, payload[:begin]...), payload[end:]...)
}
