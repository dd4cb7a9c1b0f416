package lifecycle

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// The members of a response by which a target steers its job.
const (
	steerSet  = "$set"
	steerNext = "$next"
	steerStop = "$stop"
	steerFail = "$fail"
)

// failedItself returns the failure that a response reports with $fail; nil if it
// reports none.
func failedItself(r *job.Response) *job.Failure {
	reason := rawjson.Get(job.JSONBody(r), steerFail)
	if reason.Kind() != '"' {
		return nil
	}
	return &job.Failure{Kind: job.KindAnswer, Message: job.Reason(reason)}
}

// steering is what a successful response says about its schedule.
type steering struct {
	next time.Time // when the next run is due; zero if the grid decides
	stop bool      // the schedule ends
}

// rejection is a member of a response that is ignored because its value is wrong.
type rejection struct{ member, why string }

// nextDistance is how long after the start of a run the next one may start at the
// earliest if $next asked for it: schedules run once a second at most, whatever
// their targets answer. The due time stays as asked for.
const nextDistance = time.Second

// steer reads $next and $stop of a run's response, which ended at a time. A next
// run in the past is due at once.
func steer(body rawjson.Value, at time.Time) (s steering, wrong []rejection) {
	if next := rawjson.Get(body, steerNext); !rawjson.IsNull(next) {
		due, problem := job.ReadNext(next, at)
		if problem != "" {
			wrong = append(wrong, rejection{steerNext, problem})
		} else {
			s.next = schedule.Later(due, at)
		}
	}
	if stop := rawjson.Get(body, steerStop); stop.Kind() == 't' {
		s.stop = true
	} else if !rawjson.IsNull(stop) && stop.Kind() != 'f' {
		wrong = append(wrong, rejection{steerStop, "must be true or false"})
	}
	return s, wrong
}

// wrongFail returns what is wrong with $fail in a successful response.
func wrongFail(body rawjson.Value) []rejection {
	if fail := rawjson.Get(body, steerFail); !rawjson.IsNull(fail) && fail.Kind() != '"' {
		return []rejection{{steerFail, "must be a string, the reason of the failure"}}
	}
	return nil
}

// log returns the log of a member that is ignored.
func (r rejection) log(j *job.Job, at time.Time) job.Log {
	b := rawjson.AppendText([]byte(`{"message":`), r.member+" "+r.why+"; it is ignored")
	b = append(rawjson.AppendText(append(b, `,"member":`...), r.member), '}')
	// After the log of the response.
	return newLog(j.Owner, j.Number, job.EventStateRejected, at.Add(time.Microsecond), b)
}
