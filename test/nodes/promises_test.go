package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// plantedMix is a history of a mix without violations: rated and slotted jobs,
// one job of each kind that its target completes, expired jobs, and an alert that
// reported two changes.
func plantedMix() *History {
	h := NewHistory()
	h.Terms = Terms{Calls: 2, Per: 5 * time.Second, Parallel: 2, Within: 3 * time.Second,
		ExpiresIn: map[Kind]time.Duration{Expiring: 8 * time.Second, Held: time.Second}}
	p := &planter{h}
	p.job(1, Rated, 10, "completed", 10.1).hit(1, 10, 10.05)
	p.job(2, Rated, 10, "completed", 11.1).hit(2, 11, 11.05)
	p.job(3, Both, 10, "completed", 15.4).hit(3, 15.3, 15.35)
	p.job(4, Slotted, 20, "completed", 20.3).hit(4, 20, 20.2)
	p.job(5, Slotted, 20, "completed", 20.3).hit(5, 20.1, 20.2)
	p.job(6, Reported, 20, "completed", 20.9).hit(6, 20.3, 20.4)
	p.outcome(6, outcomeOf(Reported, "1"), 20.7, 20.9)
	p.job(7, Again, 30, "completed", 32).hit(7, 30, 30.1).hit(7, 31.5, 31.6)
	p.outcome(7, outcomeOf(Again, "1"), 30.2, 30.3)
	p.outcome(7, outcomeOf(Again, "2"), 31.8, 31.9)
	p.failure(7, 30.3, "answer", true)
	p.job(8, Refused, 40, "discarded", 40.5).hit(8, 40, 40.1).failure(8, 40.5, "answer", false)
	p.outcome(8, outcomeOf(Refused, "1"), 40.3, 40.5)
	p.job(9, Silent, 50, "discarded", 53.1).hit(9, 50, 50.1).failure(9, 53.1, "abandoned", false)
	p.job(10, Held, 60, "discarded", 61.1).failure(10, 61.1, "expired", false)
	p.job(11, Expiring, 60, "completed", 60.2).hit(11, 60, 60.1)
	p.job(12, Expiring, 60, "discarded", 80).failure(12, 80, "expired", false)
	p.job(13, Failing, 90, "discarded", 90.2).hit(13, 90, 90.1)
	p.job(14, Passing, 95, "completed", 95.2).hit(14, 95, 95.1)
	for i, change := range []Change{{"a", Failing}, {"a", Passing}} {
		number, kind := int64(13+i), []string{"failed", "recovered"}[i]
		h.Changes[*h.Jobs[number].Key] = change
		h.Messages = append(h.Messages, Message{ID: kind, Type: kind, Alert: "a", Job: number,
			Hit: p.request(90.5+5*float64(i), 90.6+5*float64(i))})
	}
	return h
}

// planter writes histories; times are seconds after an arbitrary one.
type planter struct{ *History }

func (p *planter) at(seconds float64) time.Time {
	return time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func (p *planter) job(number int64, kind Kind, due float64, state string, ended float64) *planter {
	key, final := fmt.Sprint("key ", number), p.at(ended)
	j := Job{Number: number, Key: &key}
	j.Job.State, j.Job.Scheduled, j.Job.Inserted = state, p.at(due), p.at(due-1)
	if state == "completed" {
		j.Job.Completed = &final
	} else {
		j.Job.Discarded = &final
	}
	p.Jobs[number], p.Keys[key], p.Kinds[key], p.Created[number] = j, true, kind, Created{key, p.at(due - 1)}
	return p
}

func (p *planter) request(from, to float64) Hit {
	return Hit{Attempt: "1", At: p.at(from), End: p.at(to), Sent: p.at(float64(int(from)))}
}

func (p *planter) hit(number int64, from, to float64) *planter {
	p.Hits[number] = append(p.Hits[number], p.request(from, to))
	p.Logs[number] = append(p.Logs[number], Log{Event: "worker.http.request", Job: number, Inserted: p.at(from)})
	return p
}

func (p *planter) failure(number int64, at float64, kind string, retried bool) *planter {
	log := Log{Event: "worker.http.error", Job: number, Inserted: p.at(at)}
	log.Payload.Kind = kind
	if retried {
		log.Payload.RetryAt = new(string)
	}
	p.Logs[number] = append(p.Logs[number], log)
	return p
}

func (p *planter) outcome(number int64, body string, asked, acked float64) {
	p.Outcomes[number] = append(p.Outcomes[number], Outcome{fmt.Sprint("token ", asked), body, p.at(asked), p.at(acked), 200})
}

func TestChecker_AcceptsACorrectMix(t *testing.T) {
	report := Check(plantedMix())
	if len(report.Violations) > 0 {
		t.Errorf("violations in a history without any: %q", report.Violations)
	}
	if report.Limited != 7 || report.Awaited != 4 || report.Completed != 4 || report.Expired != 2 || report.Messages != 2 {
		t.Errorf("the report says: %s", report.mixed())
	}
}

func TestChecker_AcceptsAReportOfARequestThatWasCutOff(t *testing.T) {
	h := plantedMix()
	h.Hits[6][0].Aborted = true
	if violations := Check(h).Violations; len(violations) > 0 {
		t.Errorf("violations in a history without any: %q", violations)
	}
}

func TestChecker_FindsEveryViolationOfAMix(t *testing.T) {
	for what, c := range map[string]struct {
		plant func(*planter)
		want  string
	}{
		"a window too full at the target": {func(p *planter) {
			p.Hits[3][0] = p.request(13.3, 13.4)
		}, "3 requests reached the target within 5s"},
		"a window too full by the logs": {func(p *planter) {
			p.Logs[3][0].Inserted = p.at(14.9)
		}, "3 attempts started within 4.9s"},
		"a request before its start": {func(p *planter) { p.Hits[3][0] = p.request(15.2, 15.4) }, "came before its start"},
		"too many under way": {func(p *planter) { p.job(20, Slotted, 20, "completed", 21).hit(20, 20.15, 20.19) },
			"3 attempts were under way"},
		"a response that was cut off": {func(p *planter) { p.Hits[14][0].Aborted = true }, "no request of it was answered"},
		"an awaited one not counted": {func(p *planter) {
			p.Hits[4][0].End, p.Hits[5][0].At, p.Hits[5][0].End = p.at(21), p.at(20.6),
				p.at(21)
		}, "3 attempts were under way"},
		"an outcome that is lost": {func(p *planter) {
			p.job(6, Reported, 20, "discarded", 21).failure(6, 21, "abandoned",
				false)
		}, "job 6 of the kind reported is discarded"},
		"an outcome that no node took": {func(p *planter) { p.Outcomes[6][0].Status = 410 }, "0 outcomes of job 6"},
		"two outcomes": {func(p *planter) { p.outcome(6, outcomeOf(Reported, "1"), 20.8, 20.85) },
			"2 outcomes of job 6"},
		"a strange response to a report": {func(p *planter) { p.Outcomes[6][0].Status = 404 }, "answered with 404"},
		"a request after the outcome": {func(p *planter) { p.hit(6, 30, 30.1).failure(6, 29, "interrupted", true) },
			"sent again after its outcome"},
		"a silent target given no time": {func(p *planter) { p.job(9, Silent, 50, "discarded", 52) }, "before its target had"},
		"a silent target given up wrongly": {func(p *planter) { p.Logs[9][1].Payload.Kind = "interrupted" },
			"job 9 is discarded in the end"},
		"a start that is too late": {func(p *planter) { p.hit(11, 71, 71.1).failure(11, 61, "interrupted", true) },
			"which expired at 07:09:08.000, was sent"},
		"an expiry that is too early": {func(p *planter) { p.job(12, Expiring, 60, "discarded", 67) }, "was given up"},
		"a held job that ran":         {func(p *planter) { p.hit(10, 60.5, 60.6) }, "which expired at 07:09:01.000, was sent"},
		"a change not reported":       {func(p *planter) { p.Messages = p.Messages[:1] }, "0 messages of a change to passing"},
		"a change reported twice": {func(p *planter) { m := p.Messages[0]; m.ID = "x"; p.Messages = append(p.Messages, m) },
			"2 messages of a change to failing"},
		"a message of no change":     {func(p *planter) { p.Messages[0].Job = 1 }, "an alert sent a failed of job 1"},
		"a message of another kind":  {func(p *planter) { p.Messages[0].Type = "recovered" }, "an alert sent a recovered of job 13"},
		"a message repeated in calm": {func(p *planter) { p.Messages = append(p.Messages, p.Messages[0]) }, "was delivered 2 times"},
	} {
		h := plantedMix()
		c.plant(&planter{h})
		if found := strings.Join(Check(h).Violations, "\n"); !strings.Contains(found, c.want) {
			t.Errorf("%s: want a violation that says %q, got %q", what, c.want, found)
		}
	}
}
