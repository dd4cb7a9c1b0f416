package qstash

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// prefix begins the names of the headers that this API reads.
const prefix = "Upstash-"

// Bounds of what headers say.
const (
	maxForward = 100 // headers that are forwarded
	// defaultTimeout is that of a message without a timeout: as long as a job may have.
	defaultTimeout = job.MaxTimeout
)

// Options are what the headers of a request say about a message.
type Options struct {
	Method      string // lower case; "" if it is not given
	Delay       time.Duration
	NotBefore   time.Time
	Retries     int // -1 if it is not given
	RetryDelay  string
	Timeout     time.Duration // 0 if it is not given
	Header      http.Header   // that is forwarded, the Content-Type included
	Callback    rawjson.Value // the fields of the job that is created after an attempt; nil for none
	Failure     rawjson.Value // and of that after the last attempt, if it failed
	Dedup       string        // the deduplication id
	ByContent   bool          // deduplicate by the content
	Labels      []string
	FlowControl string
	Flow        limit.Limit
	Redact      []string
	Queue       string
	ScheduleID  string
	Cron        string // with its time zone, if it has one
	Workflow    WorkflowOptions
}

// WorkflowOptions are what headers say of a workflow run.
type WorkflowOptions struct {
	RunID    string
	URL      string // of the route
	CallType string // step, toCallback or fromCallback; "" if it is not given
	Init     bool   // the message starts the run
	Invoke   bool   // which another one waits for
	SDK      string // the version of the protocol; "" if it is not given
	// Lazy: the route reads the steps itself if a message has no body.
	Lazy bool
}

// reader reads headers.
type reader struct {
	problem   string
	parameter bool // it reads parameters of an address
}

// refuse notes what is wrong with a header; the first problem counts.
func (r *reader) refuse(header, detail string) {
	if r.problem == "" {
		kind := "header "
		if r.parameter {
			kind = "parameter "
		}
		r.problem = "invalid " + kind + header + ": " + detail
	}
}

func (r *reader) err() error {
	if r.problem == "" {
		return nil
	}
	return bad(r.problem)
}

// bad returns the fault for a request that is wrong.
func bad(message string) error { return &fault.Error{Code: fault.Invalid, Message: message} }

// ReadOptions reads the headers of a message.
func ReadOptions(header http.Header) (*Options, error) {
	r := &reader{}
	o := r.options(header, prefix)
	if types := header.Values("Content-Type"); len(types) > 0 && o.Header.Get("Content-Type") == "" {
		o.Header.Set("Content-Type", types[0])
	}
	o.Callback = r.followUp(header, prefix+"Callback", o)
	o.Failure = r.followUp(header, prefix+"Failure-Callback", o)
	if err := r.err(); err != nil {
		return nil, err
	}
	return o, nil
}

// options reads the headers that begin with a prefix.
func (r *reader) options(header http.Header, prefix string) *Options {
	o := &Options{Retries: -1, Header: http.Header{}}
	for name, values := range header {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || len(values) == 0 {
			continue
		}
		if forwarded, ok := strings.CutPrefix(rest, "Forward-"); ok {
			r.forward(o, name, forwarded, values)
			continue
		}
		if read := readers[rest]; read != nil {
			read(r, o, name, decoded(strings.TrimSpace(values[0])))
		}
	}
	r.flow(header, o, prefix)
	return o
}

// readers has a function for each header, without the prefix.
var readers = map[string]func(r *reader, o *Options, name, value string){
	"Method":             (*reader).method,
	"Delay":              func(r *reader, o *Options, name, value string) { o.Delay = r.duration(name, value) },
	"Timeout":            (*reader).timeout,
	"Not-Before":         (*reader).notBefore,
	"Retries":            (*reader).retries,
	"Retry-Delay":        func(_ *reader, o *Options, _, value string) { o.RetryDelay = value },
	"Deduplication-Id":   func(_ *reader, o *Options, _, value string) { o.Dedup = value },
	"Label":              (*reader).labels,
	"Queue-Name":         func(_ *reader, o *Options, _, value string) { o.Queue = value },
	"Schedule-Id":        func(_ *reader, o *Options, _, value string) { o.ScheduleID = value },
	"Cron":               func(_ *reader, o *Options, _, value string) { o.Cron = strings.Join(strings.Fields(value), " ") },
	"Redact-Fields":      (*reader).redact,
	"Flow-Control-Key":   func(_ *reader, o *Options, _, value string) { o.FlowControl = value },
	"Flow-Control-Value": (*reader).flowValue,
	// The names are those of http.CanonicalHeaderKey.
	"Workflow-Runid":       func(r *reader, o *Options, name, value string) { o.Workflow.RunID = r.runID(name, value) },
	"Workflow-Url":         func(_ *reader, o *Options, _, value string) { o.Workflow.URL = value },
	"Workflow-Calltype":    func(_ *reader, o *Options, _, value string) { o.Workflow.CallType = value },
	"Workflow-Init":        func(_ *reader, o *Options, _, value string) { o.Workflow.Init = value == "true" },
	"Workflow-Invoke":      func(_ *reader, o *Options, _, value string) { o.Workflow.Invoke = value == "true" },
	"Workflow-Sdk-Version": func(_ *reader, o *Options, _, value string) { o.Workflow.SDK = value },
	"Feature-Set": func(_ *reader, o *Options, _, value string) {
		o.Workflow.Lazy = slices.Contains(strings.Split(value, ","), "LazyFetch")
	},
	"Content-Based-Deduplication": func(r *reader, o *Options, name, value string) {
		switch strings.ToLower(value) {
		case "true", "1":
			o.ByContent = true
		case "false", "0", "":
		default:
			r.refuse(name, "must be true or false")
		}
	},
}

// forward adds a header that is forwarded. Those that belong to the connection, and the
// service's own, are left out, as a proxy does.
func (r *reader) forward(o *Options, name, forwarded string, values []string) {
	if !job.MayForward(forwarded) {
		return
	}
	if !httpguts.ValidHeaderFieldName(forwarded) {
		r.refuse(name, "forwards an invalid name")
		return
	}
	if len(o.Header) >= maxForward {
		r.refuse(name, "forwards more than "+strconv.Itoa(maxForward)+" headers")
		return
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = decoded(value)
	}
	o.Header[http.CanonicalHeaderKey(forwarded)] = texts
}

// decoded returns a header's value as UTF-8. Some clients send ISO 8859-1.
func decoded(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	runes := make([]rune, len(value))
	for i := range len(value) {
		runes[i] = rune(value[i])
	}
	return string(runes)
}

func (r *reader) method(o *Options, name, value string) {
	o.Method = strings.ToLower(value)
	if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, o.Method) {
		r.refuse(name, "must be GET, POST, PUT, PATCH or DELETE")
	}
}

func (r *reader) notBefore(o *Options, name, value string) {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		r.refuse(name, "must be a unix timestamp in seconds")
		return
	}
	o.NotBefore = time.Unix(seconds, 0).UTC()
}

func (r *reader) retries(o *Options, name, value string) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		r.refuse(name, "must be a whole number from 0 to "+strconv.Itoa(job.MaxRetries))
		return
	}
	o.Retries = n
}

// labels reads labels, which are separated by commas.
func (r *reader) labels(o *Options, _, value string) {
	for label := range strings.SplitSeq(value, ",") {
		if label = strings.TrimSpace(label); label != "" && !slices.Contains(o.Labels, label) {
			o.Labels = append(o.Labels, label)
		}
	}
}

// redact reads fields as the core names them: body, headers and header:NAME.
func (r *reader) redact(o *Options, name, value string) {
	for field := range strings.SplitSeq(value, ",") {
		field = strings.TrimSpace(field)
		inside, isHeader := strings.CutPrefix(strings.Replace(field, "headers[", "header[", 1), "header[")
		switch {
		case field == "":
		case field == "body":
			o.Redact = append(o.Redact, "body")
		case field == "header", field == "headers":
			o.Redact = append(o.Redact, "headers")
		case isHeader && strings.HasSuffix(inside, "]") && httpguts.ValidHeaderFieldName(strings.TrimSuffix(inside, "]")):
			o.Redact = append(o.Redact, "header:"+strings.TrimSuffix(inside, "]"))
		default:
			r.refuse(name, "must list body, header or header[NAME]")
		}
	}
}

// units are the units of durations.
var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// duration reads a duration, as in 50s and 1d10h30m.
func (r *reader) duration(name, value string) time.Duration {
	d, ok := readDuration(value)
	if !ok {
		r.refuse(name, "must be a duration in the units s, m, h and d, as in 1d10h30m")
	}
	return d
}

// timeout reads a duration, or a number of seconds: so context.call of the workflow SDK
// writes a timeout that is a number.
func (r *reader) timeout(o *Options, name, value string) {
	if strings.Trim(value, "0123456789.") == "" {
		if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds <= job.MaxAhead.Seconds() {
			o.Timeout = time.Duration(seconds * float64(time.Second))
			return
		}
	}
	o.Timeout = r.duration(name, value)
}

func readDuration(value string) (d time.Duration, ok bool) {
	for value != "" {
		n := strings.IndexFunc(value, func(c rune) bool { return c < '0' || c > '9' })
		if n <= 0 || n > 9 {
			return 0, false
		}
		unit, known := units[value[n]]
		amount, err := strconv.ParseInt(value[:n], 10, 64)
		if !known || err != nil || amount > int64(job.MaxAhead/unit) {
			return 0, false
		}
		if d += time.Duration(amount) * unit; d > job.MaxAhead {
			return 0, false
		}
		value, ok = value[n+1:], true
	}
	return d, ok
}

// flowValue reads the limits of a flow control key, as in "parallelism=3, rate=5,
// period=1m".
func (r *reader) flowValue(o *Options, name, value string) {
	l := &o.Flow
	for part := range strings.SplitSeq(value, ",") {
		key, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		text = strings.TrimSpace(text)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "":
		case "parallelism":
			l.Parallel = r.count(name, text, limit.MaxParallel)
		case "rate", "ratepersecond":
			l.Calls = r.count(name, text, limit.MaxCalls)
		case "period":
			if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
				text = strconv.Itoa(seconds) + "s"
			}
			l.Per = r.duration(name, text)
			if l.Per < limit.MinPer || l.Per > limit.MaxPer {
				r.refuse(name, "period must be from 1s to 31d")
			}
		default:
			r.refuse(name, "must be like parallelism=3, rate=5, period=1m")
		}
	}
}

func (r *reader) count(name, text string, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		r.refuse(name, "rate and parallelism must be whole numbers from 1 to "+strconv.Itoa(most))
		return 0
	}
	return n
}

// flow checks what headers say of flow control together.
func (r *reader) flow(header http.Header, o *Options, prefix string) {
	l := &o.Flow
	given := header.Get(prefix+"Flow-Control-Value") != ""
	switch {
	case o.FlowControl == "" && given:
		r.refuse(prefix+"Flow-Control-Value", "needs "+prefix+"Flow-Control-Key")
	case o.FlowControl != "" && l.Calls == 0 && l.Parallel == 0 && given:
		r.refuse(prefix+"Flow-Control-Value", "must have a rate or a parallelism")
	case o.FlowControl != "" && !given:
		r.refuse(prefix+"Flow-Control-Key", "needs "+prefix+"Flow-Control-Value")
	case l.Calls > 0 && l.Per == 0:
		l.Per = time.Second
	case l.Calls == 0:
		l.Per = 0
	}
}

// followUp reads a callback: the fields of the job that is created for it.
func (r *reader) followUp(header http.Header, name string, of *Options) rawjson.Value {
	target := strings.TrimSpace(header.Get(name))
	if target == "" {
		return nil
	}
	if !isURL(target) {
		r.refuse(name, "must be a URL that begins with https:// or http://")
		return nil
	}
	o := r.options(header, name+"-")
	if o.Retries < 0 {
		o.Retries = of.Retries
	}
	if o.Header.Get("Content-Type") == "" {
		o.Header.Set("Content-Type", "application/json")
	}
	o.Workflow.addTo(o.Header)
	var f fields
	f.Text("url", target)
	f.request(o)
	if o.Delay > 0 {
		f.Seconds("schedule_in", o.Delay)
	}
	return f.Object()
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
