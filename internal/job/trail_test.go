package job

import (
	"testing"
	"time"
)

func TestAttempts_FromLogs(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	request := func(n int) AttemptLog {
		return AttemptLog{Event: EventRequest, At: at.Add(time.Duration(n) * time.Minute), Head: `{"body":null}`}
	}
	interrupted := AttemptLog{Event: EventError, Head: `{"kind":"interrupted","message":"m","duration_ms":1,"attempt":7,"retry_at":"2031-05-06T07:09:09.000001Z"}`}
	spoofed := AttemptLog{
		Event: EventResponse, Head: `{"status":500,"headers":{"a":"\"status\":1"},"body":{"duration_ms":9,"attempt":99`,
		Tail: `,"duration_ms":9,"attempt":99},"duration_ms":2.5,"truncated":false,"attempt":8,"retry_at":null}`,
	}
	failed := AttemptLog{Event: EventResponse, Head: `{"status":200,"headers":{},"body":{},"duration_ms":1,"truncated":false,"error":{"kind":"answer","message":"a \"b\", c"},"attempt":9,"retry_at":null}`}
	succeeded := AttemptLog{Event: EventResponse, Head: `{"status":201,"headers":{},"body":"","duration_ms":1500,"truncated":false}`}
	got := Attempts([]AttemptLog{request(0), interrupted, request(1), spoofed, failed, request(3), succeeded, request(4)})
	want := []AttemptSummary{
		{Number: 7, StartedAt: at, Duration: time.Millisecond, Failure: &Failure{Kind: KindInterrupted, Message: "m"},
			RetryAt: time.Date(2031, 5, 6, 7, 9, 9, 1000, time.UTC)},
		{Number: 8, StartedAt: at.Add(time.Minute), Duration: 2500 * time.Microsecond, Status: 500,
			Failure: &Failure{Kind: KindStatus, Message: "the target responded with 500, which is no success"}},
		{Number: 9, Duration: time.Millisecond, Status: 200, Failure: &Failure{Kind: "answer", Message: `a "b", c`}},
		{Number: 10, StartedAt: at.Add(3 * time.Minute), Duration: 1500 * time.Millisecond, Status: 201},
		{Number: 11, StartedAt: at.Add(4 * time.Minute), Duration: -1},
	}
	if len(got) != len(want) {
		t.Fatalf("%d attempts, want %d", len(got), len(want))
	}
	for i, a := range got {
		w := want[i]
		sameFailure := (a.Failure == nil) == (w.Failure == nil) &&
			(a.Failure == nil || a.Failure.Kind == w.Failure.Kind && a.Failure.Message == w.Failure.Message)
		if a.Number != w.Number || !a.StartedAt.Equal(w.StartedAt) || a.Duration != w.Duration || a.Status != w.Status || !sameFailure ||
			!a.RetryAt.Equal(w.RetryAt) {
			t.Errorf("attempt %d: %+v, want %+v", i, a, w)
		}
	}
	// The first of the read logs has no number.
	if got := Attempts([]AttemptLog{request(0), succeeded, request(1), spoofed}); got[0].Number != 7 || got[1].Number != 8 {
		t.Errorf("numbered %d and %d", got[0].Number, got[1].Number)
	}
}

func FuzzAttempts(f *testing.F) {
	f.Add(`{"kind":"tls","message":"a\`, `,"duration_ms":1e9}`)
	f.Add(`{"status":500`, `"error":{"kind":"x","message":"\u12`)
	f.Fuzz(func(t *testing.T, head, tail string) {
		for _, event := range []string{EventResponse, EventError} {
			if all := Attempts([]AttemptLog{{Event: event, Head: head, Tail: tail}}); len(all) != 1 {
				t.Fatalf("%d attempts", len(all))
			}
		}
	})
}
