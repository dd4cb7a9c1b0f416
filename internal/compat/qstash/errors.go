package qstash

import (
	"errors"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
)

// given has what a client of this API gives each field of the service with. Of a callback
// its own header takes the place of the prefix.
var given = map[string]string{
	"url": "the destination url", "group": "the destination", "targets": "endpoints", "body_base64": "the body",
	"method": prefix + "Method", "retries": prefix + "Retries", "backoff": prefix + "Retries", "no_retry": prefix + "Retries",
	"retry_delay": prefix + "Retry-Delay", "timeout": prefix + "Timeout", "schedule_in": prefix + "Delay", "offset": prefix + "Delay",
	"scheduled_at": prefix + "Not-Before", "idempotency_key": prefix + "Deduplication-Id", "on_conflict": prefix + "Deduplication-Id",
	"throttle": prefix + "Deduplication-Id", "tags": prefix + "Label", "labels": prefix + "Label", "redact": prefix + "Redact-Fields",
	"limits": prefix + "Flow-Control-Key", "flow_control": prefix + "Flow-Control-Key", "queue": prefix + "Queue-Name",
	"cron": prefix + "Cron", "timezone": "the time zone in " + prefix + "Cron", "rate": "rate", "parallel": "parallelism",
	"caller_ip": "the address",
}

// followUps are the headers of the jobs that the service's field dialect has.
var followUps = map[string]string{"callback": prefix + "Callback", "failure_callback": prefix + "Failure-Callback"}

// subject returns what a client of this API knows as what a JSON pointer into the request
// to the service means.
func subject(pointer string) string {
	steps := strings.Split(strings.TrimPrefix(pointer, "#/"), "/")
	for i := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i])
	}
	as := prefix // begins the headers
	if steps[0] == "dialect" && len(steps) > 1 {
		steps = steps[1:]
		if header := followUps[steps[0]]; header != "" {
			if steps = steps[1:]; len(steps) == 0 || steps[0] == "url" {
				return header
			}
			as = header + "-"
		}
	}
	switch {
	case steps[0] == "headers" && len(steps) > 1:
		return as + "Forward-" + steps[1]
	case steps[0] == "headers":
		return as + "Forward-*"
	case steps[0] == "targets":
		return strings.Join(append([]string{given["targets"]}, steps[1:]...), ".")
	}
	if name := given[steps[0]]; name != "" {
		return strings.Replace(name, prefix, as, 1)
	}
	return "the message"
}

// details has what the service says of its own fields, in the words of this API.
var details = strings.NewReplacer("use the header Authorization instead", "use "+prefix+"Forward-Authorization instead")

// said returns what an error says, about the headers and fields that the client knows.
func said(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	if len(f.Problems) == 0 {
		return f.Message
	}
	var sentences []string
	for _, p := range f.Problems {
		if p.Pointer == "" {
			sentences = append(sentences, p.Sentence())
			continue
		}
		sentences = append(sentences, subject(p.Pointer)+" "+details.Replace(p.Detail))
	}
	if f.More > 0 {
		sentences = append(sentences, "and more problems")
	}
	return strings.Join(sentences, "; ")
}
