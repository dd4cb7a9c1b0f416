package store

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestDeliveryEnd_ReleasesNextAfterTheFirstAttemptAtAnEvent(t *testing.T) {
	later := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, x := range []struct {
		name    string
		end     DeliveryEnd
		channel job.Channel
		before  int
		want    bool
	}{
		{"delivered at once", DeliveryEnd{Attempt: 1}, job.Webhook, 0, true},
		{"failed, to be retried", DeliveryEnd{Attempt: 1, Again: later}, job.Webhook, 0, true},
		{"interrupted before it counted", DeliveryEnd{Attempt: 0, Again: later}, job.Webhook, 0, false},
		{"a retry", DeliveryEnd{Attempt: 2, Again: later}, job.Webhook, 1, false},
		{"given up", DeliveryEnd{Attempt: 9}, job.Webhook, 8, false},
		{"a callback", DeliveryEnd{Attempt: 1}, job.Callback, 0, false},
	} {
		if got := x.end.ReleasesNext(x.channel, x.before); got != x.want {
			t.Errorf("%s: got %t", x.name, got)
		}
	}
}
