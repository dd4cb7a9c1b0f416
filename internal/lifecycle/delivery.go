package lifecycle

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/retry"
	"github.com/punctual-dev/punctual/internal/store"
)

// EndDelivery returns what to store for an outcome of a delivery's attempt:
// delivered, to be retried, or given up with a log.
func EndDelivery(item *store.QueueItem, number int, node int64, o job.Outcome, ended time.Time) store.Finish {
	end := &store.DeliveryEnd{Attempt: number}
	switch {
	case o.Failure != nil && o.Failure.Kind == job.KindInterrupted:
		end.Attempt, end.Again = number-1, ended.Add(o.Failure.Wait)
	case droppedFirst(number, &o):
		end.Again = ended
	case !Delivered(&o):
		final := o.Failure != nil && o.Failure.Final
		if wait, again := retry.DeliveryBackoff(number); again && !final {
			end.Again = ended.Add(wait)
		} else {
			log := givenUpLog(item.Delivery, number, &o, ended)
			end.Log = &log
		}
	}
	if end.Again.IsZero() {
		end.Outcome = answered(item.Delivery, number, &o, ended)
	}
	f := store.Finish{QueueKey: item.QueueKey, Node: node, Attempt: number, Delivery: end}
	if end.Log != nil {
		f.Size = len(end.Log.Payload)
	}
	return f
}

// UnstoredDelivery returns finishes for an attempt whose outcome can't be
// stored, from the most complete to the simplest: given up with a log, and
// given up without one.
func UnstoredDelivery(item *store.QueueItem, number int, node int64, ended time.Time) []store.Finish {
	bare := store.Finish{QueueKey: item.QueueKey, Node: node, Attempt: number, Delivery: &store.DeliveryEnd{Attempt: number}}
	outcome := unstoredOutcome()
	log := givenUpLog(item.Delivery, number, outcome, ended)
	withLog := bare
	withLog.Delivery = &store.DeliveryEnd{Attempt: number, Log: &log, Outcome: answered(item.Delivery, number, outcome, ended)}
	return []store.Finish{withLog, bare}
}

// answered returns what the tracker of alerts learns of a message that was accepted or
// given up; nil for deliveries that are not of alerts.
func answered(d *job.Delivery, tries int, o *job.Outcome, at time.Time) *store.AlertOutcome {
	if d.Channel == job.Callback || d.Channel == job.Webhook {
		return nil
	}
	a := store.AlertAnswer{ID: d.MessageID, GivenUp: !Delivered(o), Attempts: tries}
	if o.Response != nil {
		a.Status = o.Response.Status
	}
	if o.Failure != nil {
		a.Error = o.Failure.Kind
	}
	detail, err := json.Marshal(&a)
	if err != nil { // can't be: it has strings and numbers
		return nil
	}
	return &store.AlertOutcome{Owner: d.Owner, Job: d.Job, Kind: store.AlertAnswered, At: at, Detail: detail}
}

func givenUpLog(d *job.Delivery, tries int, o *job.Outcome, at time.Time) job.Log {
	event, b := job.EventCallbackFailed, []byte(`{"url":`)
	b = rawjson.AppendText(b, d.URL)
	if d.Channel != job.Callback {
		event = job.EventAlertFailed
		if d.Channel == job.Webhook {
			event = job.EventWebhookFailed
		}
		b = append(b, `,"type":`...)
		b = rawjson.AppendText(b, d.Event)
	}
	b = append(b, `,"attempts":`...)
	b = strconv.AppendInt(b, int64(tries), 10)
	b = append(b, `,"response":`...)
	if o.Response != nil {
		b = appendResponse(b, o)
	} else {
		b = append(b, `null`...)
	}
	b = append(b, `,"error":`...)
	if failure := (&messageData{outcome: o}).failure(); failure != nil {
		b = appendFailure(b, failure)
	} else {
		b = append(b, `null`...)
	}
	return newLog(d.Owner, d.Job, event, at, append(b, '}'))
}
