package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

type schedulesPunctuality struct {
	serviceFlags
	ID    string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
	Month string `placeholder:"YYYY-MM" help:"One of the last 13 months, in UTC. The default is the current one."`
	CSV   bool   `name:"csv" help:"Print a table for spreadsheets."`
}

// punctualityView is the report of a month of a schedule.
type punctualityView struct {
	Schedule  string `json:"schedule_id"`
	Month     string `json:"month"`
	Complete  bool   `json:"complete"`
	Due       int64  `json:"due"`
	Made      int64  `json:"made"`
	Completed int64  `json:"completed"`
	Failed    int64  `json:"failed"`
	Cancelled int64  `json:"cancelled"`
	Late      int64  `json:"late"`
	LateAfter int64  `json:"late_after_ms"`
	Missed    struct {
		Down    int64 `json:"down"`
		Overlap int64 `json:"overlap"`
		Limit   int64 `json:"limit"`
		Expired int64 `json:"expired"`
		Next    int64 `json:"next"`
	} `json:"missed"`
	Lateness struct {
		P50   *float64 `json:"p50"`
		P99   *float64 `json:"p99"`
		P999  *float64 `json:"p999"`
		Worst *float64 `json:"worst"`
	} `json:"lateness_ms"`
	Outages []struct {
		Reason string `json:"reason"`
		From   string `json:"from"`
		To     string `json:"to"`
		Runs   int64  `json:"runs"`
	} `json:"outages"`
	Omitted int64 `json:"outages_omitted"`
}

// Run shows the report of a month.
func (c *schedulesPunctuality) Run(env *environment) error {
	path := schedulePath(c.ID) + "/punctuality"
	if c.Month != "" {
		path += "?" + url.Values{"month": {c.Month}}.Encode()
	}
	if c.CSV {
		got, err := c.call(env, http.MethodGet, path, nil, http.Header{"Accept": {"text/csv"}})
		if err != nil {
			return err
		}
		_, err = env.out.Write(got.text)
		return err
	}
	record, err := c.record(env, http.MethodGet, path, nil)
	return printOne(&c.displayFlags, env, record, err, func(p *punctualityView) string { return p.Schedule },
		func(p *punctualityView) error { return p.print(env.out, c.terminal(env)) })
}

func (p *punctualityView) print(out io.Writer, to terminal) error {
	f := facts{to: to}
	f.add("schedule", p.Schedule)
	f.add("month", p.Month)
	if !p.Complete {
		f.add("complete", "no: earlier runs are still being counted")
	}
	f.add("due", strconv.FormatInt(p.Due, 10))
	f.add("made", strconv.FormatInt(p.Made, 10))
	f.add("completed", strconv.FormatInt(p.Completed, 10))
	f.add("failed", strconv.FormatInt(p.Failed, 10))
	f.add("cancelled", strconv.FormatInt(p.Cancelled, 10))
	f.add("late", fmt.Sprintf("%d by more than %d s", p.Late, p.LateAfter/1000))
	f.add("missed", p.missed())
	f.add("lateness", p.lateness())
	for i, o := range p.Outages {
		name := ""
		if i == 0 {
			name = "outages"
		}
		f.add(name, fmt.Sprintf("%s to %s: %s, %d runs", to.moment(o.From), to.moment(o.To), o.Reason, o.Runs))
	}
	if p.Omitted > 0 {
		f.add("", fmt.Sprintf("and %d shorter ones", p.Omitted))
	}
	return f.print(out)
}

// missed returns the points without a run, by reason.
func (p *punctualityView) missed() string {
	var parts []string
	for _, m := range []struct {
		reason string
		n      int64
	}{{"down", p.Missed.Down}, {"overlap", p.Missed.Overlap}, {"limit", p.Missed.Limit}, {"expired", p.Missed.Expired},
		{"next", p.Missed.Next}} {
		if m.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m.n, m.reason))
		}
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, ", ")
}

func (p *punctualityView) lateness() string {
	l := &p.Lateness
	if l.P50 == nil || l.P99 == nil || l.P999 == nil || l.Worst == nil {
		return "-"
	}
	ms := func(value *float64) string { return strconv.FormatFloat(*value, 'f', -1, 64) + " ms" }
	return fmt.Sprintf("p50 %s, p99 %s, p99.9 %s, worst %s", ms(l.P50), ms(l.P99), ms(l.P999), ms(l.Worst))
}
