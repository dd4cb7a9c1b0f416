package demo

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// kathmandu is an odd zone, of the kind that shows whether zones are minded.
var kathmandu = time.FixedZone("NPT", 5*3600+45*60)

func printed(terminal, color bool, print func(*printer)) string {
	var out bytes.Buffer
	print(&printer{out: &out, terminal: terminal, color: color, zone: time.UTC})
	return out.String()
}

func rows(p *printer) {
	e := promised()
	p.header()
	for _, r := range e.runs[:3] {
		p.row(r)
	}
	p.row(e.runs[len(e.runs)-1])
	lost := *e.runs[0]
	lost.fired, lost.status, lost.state, lost.failure = time.Time{}, 0, "retryable", "tls: none"
	p.row(&lost)
	late := *e.runs[0]
	late.fired = late.due.Add(12345 * time.Millisecond)
	p.row(&late)
}

func TestRowsThroughAPipe(t *testing.T) {
	t.Parallel()
	want := `Times are UTC; "fired" is when the target had the request.

job         due           fired              late  status  state
one-off     09:00:01.620  09:00:01.621     1.0 ms  200     completed
fails once  09:00:02.620  09:00:02.621     1.0 ms  503     retryable  in 10.4 s
recurring   09:00:02.120  09:00:02.121     1.0 ms  200     completed  count 1
fails once  09:00:13.022  09:00:13.023     1.0 ms  200     completed  attempt 2
one-off     09:00:01.620  -                     -  -       retryable  tls: none
one-off     09:00:01.620  09:00:13.965  12345.0 ms  200     completed
`
	if got := printed(false, false, rows); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestColorsChangeNothingButColors(t *testing.T) {
	t.Parallel()
	plain, colored := printed(true, false, rows), printed(true, true, rows)
	for _, code := range []string{bold, dim, red, green, yellow, "0"} {
		colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
	}
	if plain != colored {
		t.Errorf("without its colours\n%q\nis not\n%q", colored, plain)
	}
}

func TestARowAtATerminal(t *testing.T) {
	t.Parallel()
	e := promised()
	want := "one-off     09:00:01.620  09:00:01.621     1.0 ms  200     \x1b[32mcompleted\x1b[0m\n" +
		"fails once  09:00:02.620  09:00:02.621     1.0 ms  503     \x1b[33mretryable\x1b[0m  \x1b[2min 10.4 s\x1b[0m\n"
	got := printed(true, true, func(p *printer) {
		p.row(e.runs[0])
		p.row(e.runs[1])
	})
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestTheLiveLineCountsDownAndMakesRoom(t *testing.T) {
	t.Parallel()
	e := promised()
	live := func(p *printer) {
		next := []awaited{{role: recurring, due: after(2 * time.Second)}, {role: failsOnce, due: after(3 * time.Second)}}
		p.progress(600*time.Millisecond, after(600*time.Millisecond), next)
		p.progress(2*time.Second, after(2*time.Second), next)
		p.row(e.runs[2])
		p.progress(3*time.Second, after(3*time.Second), []awaited{{role: failsOnce, retry: true, due: after(13 * time.Second)}})
		p.progress(13*time.Second, after(13*time.Second), nil)
		p.clear()
	}
	want := "\r\x1b[K 0.6 s   next: the recurring job in 1.4 s" +
		"\r\x1b[K 2.0 s   now: the recurring job" +
		"\r\x1b[Krecurring   09:00:02.120  09:00:02.121     1.0 ms  200     completed  count 1\n" +
		"\r\x1b[K 3.0 s   next: the retry of the job that fails once in 10.0 s" +
		"\r\x1b[K13.0 s   next: reading what is stored" +
		"\r\x1b[K"
	if got := printed(true, false, live); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	want = "recurring   09:00:02.120  09:00:02.121     1.0 ms  200     completed  count 1\n"
	if got := printed(false, false, live); got != want {
		t.Errorf("through a pipe\n%q\nwant\n%q", got, want)
	}
}

func TestErrorsOfTheServiceTakeTheLiveLinesPlace(t *testing.T) {
	t.Parallel()
	got := printed(true, false, func(p *printer) {
		p.progress(time.Second, start, nil)
		_, _ = io.WriteString(p.aside(p.out), "level=ERROR\n")
	})
	if want := "\r\x1b[K 1.0 s   next: reading what is stored\r\x1b[Klevel=ERROR\n"; got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestTheSummary(t *testing.T) {
	t.Parallel()
	want := `
Summary, as the API tells it

  runs       9: 6 recurring, 2 fails once, 1 one-off
  lateness   median 1.0 ms, worst 1.0 ms
  jobs       9: 8 completed, 1 cancelled
  schedules  1: 1 disabled
  logs       18: 9 worker.http.request, 9 worker.http.response

  The cancelled job was the next recurring one, when the schedule was disabled.

`
	if got := printed(false, false, func(p *printer) { p.summary(promised()) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheEndSaysWhatToDoNext(t *testing.T) {
	t.Parallel()
	want := `All was as promised. The service has stopped and its files are gone.

Next

  Serve             ./punctual serve --public-api-key sk_trial
  Read about it     http://127.0.0.1:8080/docs
  Schedule a job    curl http://127.0.0.1:8080/api/jobs \
                      -H "Authorization: Bearer sk_trial" \
                      -d url=https://example.com -d schedule_in=10
`
	if got := printed(false, false, func(p *printer) { p.closing("./punctual") }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLinesFitAnOrdinaryTerminal(t *testing.T) {
	t.Parallel()
	text := printed(false, false, func(p *printer) {
		p.heading()
		rows(p)
		p.summary(promised())
		p.closing("go run ./cmd/punctual")
	})
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); len(line) > 80 || strings.HasSuffix(line, " ") {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
}

func TestTimesAreThoseOfTheZone(t *testing.T) {
	t.Parallel()
	p := &printer{zone: kathmandu}
	if got := p.clock(start); got != "14:45:00.120" {
		t.Errorf("clock %s", got)
	}
	if got := zoneName(kathmandu); got != "UTC+05:45" {
		t.Errorf("zone %s", got)
	}
}

func TestALostOutputIsNoticed(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	_ = reader.Close()
	p := &printer{out: writer, zone: time.UTC}
	p.heading()
	p.closing("punctual")
	if err := p.failed(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
