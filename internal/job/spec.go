package job

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Defaults and limits of a job's options.
const (
	DefaultRetries = 3
	MaxRetries     = 20
	DefaultTimeout = 30 * time.Second
	MinTimeout     = time.Second
	MaxTimeout     = 900 * time.Second
	MaxState       = 64 << 10 // bytes of a schedule's $state
)

// Spec is a job's args, parsed.
type Spec struct {
	Method      string // lower case
	URL         string
	Query       rawjson.Value // nil if absent, as are all values here
	Headers     rawjson.Value
	Body        rawjson.Value
	CallbackURL string
	WebhookURL  string
	Retries     int // attempts after the first
	Timeout     time.Duration
	// Success is which responses are a success, NoRetry which failures are not
	// retried, and Backoff the waits before retries: the last one repeats, and
	// none means the default schedule of package retry.
	Success     Statuses
	NoRetry     Failures
	Backoff     []time.Duration
	Metadata    bool
	RepeatEvery rawjson.Value
	Cron        string
	Timezone    string
}

var defaultSpec = Spec{Method: "get", Retries: DefaultRetries, Timeout: DefaultTimeout, Success: DefaultSuccess, Metadata: true}

// ReadSpec parses args that were validated on create; it checks nothing.
func ReadSpec(args rawjson.Value) Spec {
	s := defaultSpec
	for _, m := range rawjson.Members(args) {
		s.set(m)
	}
	return s
}

// specOf reads validated fields.
func specOf(fields map[string]rawjson.Value) Spec {
	s := defaultSpec
	for name, value := range fields {
		s.set(rawjson.Member{Name: name, Value: value})
	}
	return s
}

func (s *Spec) set(m rawjson.Member) {
	switch m.Name {
	case "method":
		s.Method = rawjson.Text(m.Value)
	case "url":
		s.URL = rawjson.Text(m.Value)
	case "query":
		s.Query = m.Value
	case "headers":
		s.Headers = m.Value
	case "body":
		s.Body = m.Value
	case "callback_url":
		s.CallbackURL = rawjson.Text(m.Value)
	case "webhook_url":
		s.WebhookURL = rawjson.Text(m.Value)
	case "retries":
		s.Retries, _ = strconv.Atoi(string(m.Value))
	case "timeout":
		seconds, _ := strconv.ParseFloat(string(m.Value), 64)
		s.Timeout = time.Duration(seconds * float64(time.Second))
	case "success":
		s.Success = statusesOf(m.Value)
	case "no_retry":
		s.NoRetry = failuresOf(m.Value)
	case "backoff":
		s.Backoff = waitsOf(m.Value)
	case "metadata":
		s.Metadata = string(m.Value) == "true"
	case "repeat_every":
		s.RepeatEvery = m.Value
	case "cron":
		s.Cron = rawjson.Text(m.Value)
	case "timezone":
		s.Timezone = rawjson.Text(m.Value)
	}
}
