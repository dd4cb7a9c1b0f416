package attempt

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/lifecycle"
)

// speak adds to a request what its receiver expects of the API through which the job was
// created, if that is not this service's own.
func (a *jobAttempt) speak(request *execute.Request) {
	d := a.Spec.Dialect
	switch {
	case d == nil:
		return
	case d.IsGoogle():
		a.speakGoogle(request, d)
		return
	}
	j := a.Item.Job
	add := func(name, value string) {
		if value != "" {
			request.Own = append(request.Own, execute.Field{Name: name, Value: value})
		}
	}
	request.Token = true
	add("Upstash-Message-Id", lifecycle.MessageID(j.ID))
	add("Upstash-Retried", strconv.Itoa(a.Number-1))
	if j.ScheduleID != uuid.Nil {
		add("Upstash-Schedule-Id", lifecycle.ScheduleID(j.ScheduleID, j.Key))
	}
	add("Upstash-Label", strings.Join(d.Labels, ","))
	add("Upstash-Topic-Name", d.Group)
	add("Upstash-Caller-Ip", d.CallerIP)
	a.speakRun(add)
	request.Header = append(request.Header[:len(request.Header):len(request.Header)],
		execute.Field{Name: "User-Agent", Value: "Upstash-QStash"})
}
