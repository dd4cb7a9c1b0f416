package alert

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestReported_EqualsTheHistory(t *testing.T) {
	last := notify.Detail{Name: `"sent":true`}
	messages := []store.AlertMessage{{Job: 1}}
	for _, data := range []rawjson.Value{
		nil, rawjson.Value(`{}`),
		encode(History{Failures: 12, Sent: true, Last: last, Messages: messages}),
		encode(History{Failures: 3, Held: true, Last: last}),
	} {
		h := ReadHistory(data)
		if failures, sent := Reported(data); failures != h.Failures || sent != h.Sent {
			t.Errorf("%s: %d failures, reported: %v; want %d, %v", data, failures, sent, h.Failures, h.Sent)
		}
	}
}
