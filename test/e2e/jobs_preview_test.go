package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestPreview_ReturnsWhenAJobWouldRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, x := range []struct{ members, words, next string }{
		{`"cron":"0 9 * * 1-5","timezone":"Europe/Berlin","scheduled_at":"2031-05-08T00:00:00Z"`, "every weekday at 09:00, Europe/Berlin",
			`["2031-05-08T07:00:00.000000Z","2031-05-09T07:00:00.000000Z","2031-05-12T07:00:00.000000Z","2031-05-13T07:00:00.000000Z","2031-05-14T07:00:00.000000Z"]`},
		{`"repeat_every":[36,"hours"],"scheduled_at":"` + far + `"`, "every 36 hours",
			`["2031-05-06T07:08:09.000000Z","2031-05-07T19:08:09.000000Z","2031-05-09T07:08:09.000000Z","2031-05-10T19:08:09.000000Z","2031-05-12T07:08:09.000000Z"]`},
		{`"scheduled_at":"` + far + `"`, "once, on 6 May 2031 at 07:08:09, UTC", `["2031-05-06T07:08:09.000000Z"]`},
	} {
		got := a.Post("/api/preview", with(`{"url":"https://example.com"}`, x.members)).Want(200).Data()
		wantSame(t, "words", got.Get("words"), quote(x.words))
		wantSame(t, "next", got.Get("next"), x.next)
	}
	now := a.Post("/api/preview", `{"url":"https://example.com"}`).Want(200).Data()
	wantSame(t, "words", now.Get("words"), `"once, as soon as possible"`)
	wantSame(t, "what was created", a.Get("/api/jobs").Want(200).Data(), "[]")
	wantSame(t, "what was created", a.Get("/api/schedules").Want(200).Data(), "[]")
}

// TestPreview_OfAPastStartBeginsWithOneLateRun tests that the first run makes
// up for the missed ones and the others are on the grid.
func TestPreview_OfAPastStartBeginsWithOneLateRun(t *testing.T) {
	t.Parallel()
	before := time.Now()
	next := account(t).Post("/api/preview", `{"url":"https://example.com","repeat_every":[1,"hour"],"scheduled_at":"2026-01-01T00:20:07Z"}`).
		Want(200).Data().Get("next").Items()
	wantBetween(t, "the first", instant(t, next[0]), before, time.Now())
	for i, at := range next[1:] {
		if got := instant(t, at); got.Minute() != 20 || got.Second() != 7 || got.Sub(before) > time.Duration(i+1)*time.Hour+time.Second {
			t.Errorf("the %d. after it is %s", i+1, got)
		}
	}
}

func TestPreview_RefusesWhatCreateRefuses(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, body := range []string{
		`{}`, `[]`, `{"url":"http://example.com"}`, `{"url":"https://example.com","schedule_at":1}`,
		`{"url":"https://example.com","cron":"x","name":1}`,
		`{"url":"https://example.com","cron":"0 0 30 2 *"}`, `{"url":"https://example.com","headers":{"host":"x"},"retries":99}`,
	} {
		want := a.Post("/api/jobs", body).WantProblem(422)
		wantSame(t, body, a.Post("/api/preview", body).WantProblem(422).JSON, want.JSON.Raw())
	}
	a.Post("/api/preview", strings.Repeat(" ", 3)).WantProblem(400)
}
