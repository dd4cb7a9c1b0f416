package job

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Limits of completions.
const (
	// MinAwait and MaxAwait bound within and heartbeat.
	MinAwait = 100 * time.Millisecond
	MaxAwait = 7 * 24 * time.Hour
	// MaxResult is how many bytes a reported result has at most.
	MaxResult = MaxResponseBody
	// MaxReason is how many characters of a reported error or message are kept.
	MaxReason = 1000
)

// Await is how long a job may take to be completed after its target responded
// with 202. The zero Await means that it is not completed so.
type Await struct {
	Within    time.Duration // from the start of the attempt
	Heartbeat time.Duration // from the last sign of life; 0 for no limit
}

// CompletionState is how far the completion of an attempt is.
type CompletionState int

// The states of completions.
const (
	CompletionSent     CompletionState = iota // the attempt is under way, or about to start
	CompletionAwaiting                        // the target responded with 202
	CompletionOver                            // the attempt has ended
)

// Completion is what is known of how one attempt of a job is completed.
type Completion struct {
	Token     TokenHash
	Owner     Owner
	Job       int64 // the job's number
	Attempt   int
	StartedAt time.Time
	Await
	// Epoch is the schedule's when the attempt was claimed.
	Epoch int64
	State CompletionState
	// Deadline is when the attempt fails without a further sign of life; zero
	// unless it is awaited.
	Deadline time.Time
	// HeardAt is the last sign of life.
	HeardAt time.Time
	// Reported identifies the outcome that was reported; nil if there is none.
	Reported []byte
	// Early is a report that came before the response to the request; nil if there
	// is none, and after the response.
	Early rawjson.Value
	// Progress is the last progress reported, as clients see it; nil if there is
	// none.
	Progress rawjson.Value
	// Request and Response are the logs of the request and of the response with 202,
	// which is uuid.Nil before it.
	Request, Response uuid.UUID
}

// Due returns when the attempt fails without a further sign of life.
func (c *Completion) Due() time.Time {
	due := c.StartedAt.Add(c.Within)
	if c.Heartbeat > 0 {
		if silent := c.HeardAt.Add(c.Heartbeat); silent.Before(due) {
			return silent
		}
	}
	return due
}

// TokenHash is the SHA-256 hash of a token by which an attempt is completed.
type TokenHash [sha256.Size]byte

// tokenBytes is the length of a token before it is encoded.
const tokenBytes = 32

// NewToken returns a random token and its hash.
func NewToken() (string, TokenHash) {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	token := base64.RawURLEncoding.EncodeToString(b[:])
	return token, sha256.Sum256([]byte(token))
}

// TokenOf returns the token of the address at which an attempt is completed.
func TokenOf(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }

// HashToken returns the hash of a token, and false if no token has that form.
func HashToken(token string) (TokenHash, bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return TokenHash{}, false
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(token); err != nil {
		return TokenHash{}, false
	}
	return sha256.Sum256([]byte(token)), true
}

// Report is what a target reports about an attempt: a result, an error or, if both
// are nil, progress.
type Report struct {
	Result   rawjson.Value // may be the JSON null
	Error    *string       // at most MaxReason characters
	Retry    bool          // whether the error permits a retry
	Progress rawjson.Value // the number, 0 to 100
	Message  *string       // about the progress, at most MaxReason characters
	// Identity identifies the outcome that is reported; nil for progress, and before
	// Identify.
	Identity []byte
}

// Identify sets the report's Identity. It is keyed with the token that the report came
// with, so it tells nothing about values that are masked before the report is stored.
func (r *Report) Identify(token string) {
	r.Identity = r.identity(hmac.New(sha256.New, []byte(token)))
}

// unkeyed is the identity that earlier versions stored, of a report that is masked.
func (r *Report) unkeyed() []byte { return r.identity(sha256.New()) }

// identity hashes the outcome that is reported, whatever the order of the members of
// its objects; nil for progress.
func (r *Report) identity(h hash.Hash) []byte {
	switch {
	case r.Result != nil:
		_, _ = h.Write([]byte("result "))
		_, _ = h.Write(rawjson.Reordered(r.Result))
	case r.Error != nil:
		_, _ = h.Write([]byte("error " + strconv.FormatBool(r.Retry) + " " + *r.Error))
	default:
		return nil
	}
	return h.Sum(nil)
}

// Text returns the report of an outcome as [ReadReport] reads it.
func (r *Report) Text() rawjson.Value {
	if r.Result != nil {
		return rawjson.Object([]rawjson.Member{{Name: "result", Value: r.Result}})
	}
	return rawjson.Object([]rawjson.Member{
		{Name: "error", Value: rawjson.Quote(*r.Error)}, {Name: "retry", Value: rawjson.Value(strconv.FormatBool(r.Retry))},
	})
}

// ReadReport reads a report. Its error is a fault that lists every problem.
func ReadReport(body rawjson.Value) (*Report, error) {
	p := reportReader{report: Report{Retry: true}}
	if body.Kind() != '{' {
		p.refuse("#", "must be a JSON object with result, error or progress")
		return nil, p.problems.Err()
	}
	for _, m := range rawjson.Members(body) {
		p.read(m.Name, m.Value)
	}
	r := &p.report
	if len(p.outcomes) > 1 {
		for _, name := range p.outcomes {
			p.refuse("#/"+name, "excludes the other outcomes; give one of result, error and progress")
		}
	}
	if len(p.outcomes) == 0 {
		p.refuse("#", "must have result, error or progress")
	}
	if p.retry && r.Error == nil {
		p.refuse("#/retry", "works only with error")
	}
	if r.Message != nil && r.Progress == nil {
		p.refuse("#/message", "works only with progress")
	}
	if err := p.problems.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

type reportReader struct {
	report   Report
	outcomes []string // those of result, error and progress that are given
	retry    bool
	problems fault.Problems
}

func (p *reportReader) refuse(pointer, detail string) {
	p.problems.Add(fault.Problem{Pointer: pointer, Detail: detail})
}

func (p *reportReader) read(name string, v rawjson.Value) {
	if rawjson.IsNull(v) && name != "result" {
		return
	}
	switch name {
	case "result":
		if p.outcomes = append(p.outcomes, name); len(v) > MaxResult {
			p.refuse("#/result", "must have at most "+strconv.Itoa(MaxResult)+" bytes; store more elsewhere and report where it is")
		}
		p.report.Result = v
	case "error":
		p.outcomes = append(p.outcomes, name)
		p.report.Error = p.text(name, v)
	case "retry":
		if p.retry = true; v.Kind() != 't' && v.Kind() != 'f' {
			p.refuse("#/retry", "must be true or false")
		}
		p.report.Retry = v.Kind() == 't'
	case "progress":
		p.outcomes = append(p.outcomes, name)
		if n, err := strconv.ParseFloat(string(v), 64); v.Kind() != '0' || err != nil || n < 0 || n > 100 {
			p.refuse("#/progress", "must be a number from 0 to 100")
		}
		p.report.Progress = v
	case "message":
		p.report.Message = p.text(name, v)
	default:
		p.refuse(Pointer(name), "is not a known field; the known ones are result, error, retry, progress and message")
	}
}

// text reads a text and cuts it at MaxReason characters.
func (p *reportReader) text(name string, v rawjson.Value) *string {
	if v.Kind() != '"' {
		p.refuse("#/"+name, "must be a string")
	}
	text := Reason(v)
	return &text
}

// Reason returns a string, cut at MaxReason characters.
func Reason(v rawjson.Value) string {
	text, n := rawjson.Text(v), 0
	for i := range text {
		if n == MaxReason {
			return text[:i]
		}
		n++
	}
	return text
}

// ProgressAt returns reported progress as clients see it.
func (r *Report) ProgressAt(at time.Time) rawjson.Value {
	message := null
	if r.Message != nil {
		message = rawjson.Quote(*r.Message)
	}
	return rawjson.Object([]rawjson.Member{
		{Name: "progress", Value: r.Progress}, {Name: "message", Value: message},
		{Name: "reported_at", Value: rawjson.Quote(FormatTime(at))},
	})
}

// AppendCompletion appends what clients see of a completion: awaiting, deadline
// and progress; null for nil.
func AppendCompletion(b []byte, c *Completion) []byte {
	if c == nil {
		return append(b, `null`...)
	}
	b = append(b, `{"awaiting":`...)
	b = strconv.AppendBool(b, c.State == CompletionAwaiting)
	b = append(b, `,"deadline":`...)
	if c.Deadline.IsZero() {
		b = append(b, `null`...)
	} else {
		b = append(append(append(b, '"'), FormatTime(c.Deadline)...), '"')
	}
	b = append(b, `,"progress":`...)
	if c.Progress == nil {
		b = append(b, `null`...)
	}
	return append(append(b, c.Progress...), '}')
}

// Same reports whether a report has the outcome that was reported before.
func (c *Completion) Same(r *Report) bool {
	return bytes.Equal(c.Reported, r.Identity) || bytes.Equal(c.Reported, r.unkeyed())
}

// readCompletion reads the field completion.
func readCompletion(r *reader, f *Field, v rawjson.Value) {
	if r.opts.NoCompletion {
		r.refuse(Pointer(f.Name), "needs an address at which the target reports the outcome; ask the operator to start the service with --public-url (PUNCTUAL_PUBLIC_URL)")
	}
	if v.Kind() != '{' {
		r.refuse(Pointer(f.Name), "must be an object, as in {\"within\": [1, \"hour\"], \"heartbeat\": [5, \"minutes\"]}")
		return
	}
	read := func(v rawjson.Value, pointer string) (time.Duration, bool) {
		d, ok := ReadDuration(v, pointer, 0, MaxAhead, func(pointer, detail string) { r.refuse(pointer, "%s", detail) })
		if ok && (d < MinAwait || d > MaxAwait) {
			r.refuse(pointer, "must be from %s to %s", MinAwait, durationText(MaxAwait))
			return d, false
		}
		return d, ok
	}
	var within, heartbeat time.Duration
	given, right := false, false
	for _, m := range rawjson.Members(v) {
		pointer := Pointer(f.Name, m.Name)
		switch {
		case m.Name != "within" && m.Name != "heartbeat":
			r.refuse(pointer, "is not a known field; the known ones are within and heartbeat")
		case rawjson.IsNull(m.Value):
		case m.Name == "within":
			given = true
			within, right = read(m.Value, pointer)
		default:
			heartbeat, _ = read(m.Value, pointer)
		}
	}
	if !given {
		r.refuse(Pointer(f.Name, "within"), "is required")
	}
	if right && heartbeat > within {
		r.refuse(Pointer(f.Name, "heartbeat"), "must be at most within")
	}
}

// awaitOf reads a validated completion.
func awaitOf(v rawjson.Value) Await {
	a := Await{Within: DurationOf(rawjson.Get(v, "within"))}
	if heartbeat := rawjson.Get(v, "heartbeat"); !rawjson.IsNull(heartbeat) {
		a.Heartbeat = DurationOf(heartbeat)
	}
	return a
}
