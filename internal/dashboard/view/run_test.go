package view

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// retried returns a job whose first attempt timed out and whose second succeeded.
func retried() *Job {
	d := detail(job.Completed,
		logAt(1, job.EventRequest, request), logAt(5, job.EventError,
			`{"kind":"timeout","message":"no answer within 4 s","duration_ms":4000,"timings":[40,60,0,0.1,3899.9,0],"attempt":1,"retry_at":"2026-03-01T12:00:11.000000Z"}`),
		logAt(11, job.EventRequest, request), logAt(12, job.EventResponse,
			`{"status":200,"headers":{},"body":"","duration_ms":1000,"timings":[0,0,0,0,900,100],"truncated":false}`),
	)
	d.Job.CompletedAt = noon.Add(12 * time.Second)
	return d
}

func TestRun_PartsToTheScaleOfTheLongestAttempt(t *testing.T) {
	d := retried()
	for i, want := range []string{
		"dns 0% 1% 40 ms | connect 1% 1.5% 60 ms | send 2.5% 0.2% 0.1 ms | wait 2.5% 97.5% 3.90 s",
		"wait 0% 22.5% 900 ms | read 22.5% 2.5% 100 ms",
	} {
		var parts []string
		for _, s := range segments(&d.Attempts[i], d.longest()) {
			parts = append(parts, strings.Join([]string{s.name, s.x, s.width, s.took}, " "))
		}
		if got := strings.Join(parts, " | "); got != want {
			t.Errorf("attempt %d: %s, want %s", i+1, got, want)
		}
	}
	// The parts of older logs are not known.
	old := Attempt{Outcome: logAt(1, job.EventError, `{"duration_ms":2000}`), Duration: 2 * time.Second}
	if got := segments(&old, 4*time.Second); len(got) != 1 || got[0].name != "total" || got[0].width != "50%" {
		t.Errorf("without timings: %+v", got)
	}
}

func TestRun_LaneAndLatenessToScale(t *testing.T) {
	d := retried()
	l := d.lane()
	if l == nil || len(l.bars) != 2 || l.bars[0].x != "0%" || l.bars[0].tone != "bad" || l.bars[1].tone != "good" ||
		l.bars[1].x != "90.91%" || l.waits[1] != [2]string{"36.36%", "90.91%"} {
		t.Fatalf("the lane is %+v", l)
	}
	if got, want := l.summary(), "2 attempts in 11.00 s: Attempt 1: timeout; Attempt 2: 200."; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	// Each attempt is compared with the time that it was due: the job's, and that of the retry.
	late := d.late()
	if late == nil || len(late.Dots) != 2 || late.Dots[0].Late != 0 || late.Dots[1].Late != 0 {
		t.Errorf("the lateness is %+v", late)
	}
	if one := detail(job.Completed, d.Logs[:2]...).lane(); one != nil {
		t.Errorf("one attempt has the lane %+v", one)
	}
}

func TestRun_ComparesLines(t *testing.T) {
	show := func(a, b string) string {
		var lines []string
		for _, l := range compareLines(strings.Split(a, "\n"), strings.Split(b, "\n")) {
			sign := "="
			if l.differs {
				sign = "!"
			}
			lines = append(lines, l.left+sign+l.right)
		}
		return strings.Join(lines, " ")
	}
	for _, test := range [][3]string{
		{"a\nb\nc", "a\nb\nc", "a=a b=b c=c"},
		{"a\nb\nc", "a\nx\nc", "a=a b!x c=c"},
		{"a\nb\nc", "a\nc", "a=a b! c=c"},
		{"a", "x\na\ny", "!x a=a !y"},
		{"", "", "="},
	} {
		if got := show(test[0], test[1]); got != test[2] {
			t.Errorf("%q and %q: %s, want %s", test[0], test[1], got, test[2])
		}
	}
	if lines, more := linesOf(strings.Repeat("x\n", 1000)); len(lines) != maxComparedLines || !more {
		t.Errorf("%d lines are compared, more: %v", len(lines), more)
	}
}
