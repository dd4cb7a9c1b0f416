package alert

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/notify"
)

func TestNotices_KeepTheLatestWithoutCredentials(t *testing.T) {
	k := newKept(t, `{"on":["failed","recovered"],"to":[{"webhook":"https://example.com/in?token=hunter2"},{"slack":"https://hooks.example.com/T0/hunter2"}]}`)
	if n := ReadNotices(k.alerts[0].Data); len(n) != 0 {
		t.Fatalf("a new alert has the notices %v", n)
	}
	for range MaxNotices {
		k.track(nil, k.events(someSchedule, "", "F")...)
		k.now = k.now.Add(time.Minute)
		k.track(nil, k.events(someSchedule, "", "S")...)
		k.now = k.now.Add(time.Minute)
	}
	notices := ReadNotices(k.alerts[0].Data)
	if len(notices) != MaxNotices {
		t.Fatalf("%d notices are kept", len(notices))
	}
	last := notices[0]
	if last.Type != notify.Recovered || last.Job != k.number || last.Schedule != someSchedule || !last.At.Equal(k.now.Add(-time.Minute)) ||
		strings.Join(last.To, ", ") != "example.com, Slack" || last.Left != 0 || notices[1].Type != notify.Failed || notices[1].Failures != 1 {
		t.Errorf("the latest notices are %+v and %+v", last, notices[1])
	}
	if strings.Contains(string(k.alerts[0].Data), "hunter2") {
		t.Errorf("the notices have a credential: %s", k.alerts[0].Data)
	}
}
