package stats

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// Report is what was counted of a schedule's runs in a month.
type Report struct {
	Schedule uuid.UUID
	Month    int64
	Complete bool // all final runs are counted
	Counts   Month
}

// ReportOf returns the report of a month, with the runs that were not counted before.
func ReportOf(of *store.RunMonths, month int64, now time.Time) *Report {
	report := &Report{Schedule: of.Schedule, Month: month, Complete: !of.More}
	for _, rows := range [][]*store.ScheduleMonth{of.Months, CountRuns(of, now)} {
		for _, m := range rows {
			if m.Month == month {
				report.Counts = *DecodeMonth(m.Counts)
			}
		}
	}
	return report
}

// monthLayout is how months are written.
const monthLayout = "2006-01"

// FormatMonth returns a month as in 2026-11.
func FormatMonth(month int64) string { return FirstOf(month).Format(monthLayout) }

// ReadMonth reads a month as in 2026-11, the current one if it is empty. ok reports that it
// is one of those that are kept.
func ReadMonth(text string, now time.Time) (month int64, ok bool) {
	current := MonthOf(now)
	if text == "" {
		return current, true
	}
	first, err := time.Parse(monthLayout, text)
	month = MonthOf(first)
	return month, err == nil && month <= current && month > current-MonthsKept
}

// figure is a number of a report.
type figure struct {
	name string
	of   func(m *Month) int64
}

// figures are the numbers of a report, in order.
var figures = []figure{
	{"due", (*Month).Due},
	{"made", (*Month).Made},
	{"completed", func(m *Month) int64 { return m.Completed }},
	{"failed", func(m *Month) int64 { return m.Failed }},
	{"cancelled", func(m *Month) int64 { return m.Cancelled }},
	{"late", func(m *Month) int64 { return m.Late }},
}

// Append appends the report as JSON.
func (r *Report) Append(b []byte) []byte {
	m := &r.Counts
	b = append(append(b, `{"schedule_id":"`...), r.Schedule.String()...)
	b = append(append(b, `","month":"`...), FormatMonth(r.Month)...)
	b = strconv.AppendBool(append(b, `","complete":`...), r.Complete)
	for _, f := range figures {
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = strconv.AppendInt(b, f.of(m), 10)
	}
	b = append(b, `,"missed":{`...)
	for i, reason := range MissedReasons {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(append(append(b, '"'), reason...), `":`...), m.Missed[i], 10)
	}
	b = strconv.AppendInt(append(b, `},"late_after_ms":`...), LateAfter.Milliseconds(), 10)
	l := m.Lateness()
	b = append(l.Append(append(b, `,"lateness_ms":`...)), `,"outages":[`...)
	for i, o := range m.Outages {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"reason":`...), o.Reason)
		b = append(append(b, `,"from":"`...), job.FormatTime(o.From)...)
		b = append(append(b, `","to":"`...), job.FormatTime(o.To)...)
		b = append(strconv.AppendInt(append(b, `","runs":`...), o.Runs, 10), '}')
	}
	return append(strconv.AppendInt(append(b, `],"outages_omitted":`...), m.Omitted, 10), '}')
}

// Append appends the percentiles and the worst as JSON.
func (l *Lateness) Append(b []byte) []byte {
	b = AppendMillis(append(b, `{"p50":`...), l.P50)
	b = AppendMillis(append(b, `,"p99":`...), l.P99)
	b = AppendMillis(append(b, `,"p999":`...), l.P999)
	return append(AppendMillis(append(b, `,"worst":`...), l.Worst), '}')
}

// AppendMillis appends milliseconds rounded to two decimals; null for NaN.
func AppendMillis(b []byte, ms float64) []byte {
	if math.IsNaN(ms) {
		return append(b, `null`...)
	}
	return strconv.AppendFloat(b, math.Round(ms*100)/100, 'f', -1, 64)
}

// ReportType is the media type of AppendCSV, and ReportContentType the whole of it.
const (
	ReportType        = "text/csv"
	ReportContentType = ReportType + "; charset=utf-8; header=present"
)

// AppendCSV appends the report as CSV (RFC 4180): a line for each figure, one for each
// reason of missed points and one for each outage, with the columns figure, value, from and
// to. Nothing that an account can write is in it.
func (r *Report) AppendCSV(b []byte) []byte {
	m := &r.Counts
	line := func(name, value, from, to string) { b = fmt.Appendf(b, "%s,%s,%s,%s\r\n", name, value, from, to) }
	line("figure", "value", "from", "to")
	line("schedule", r.Schedule.String(), job.FormatTime(FirstOf(r.Month)), job.FormatTime(FirstOf(r.Month+1)))
	line("complete", strconv.FormatBool(r.Complete), "", "")
	for _, f := range figures {
		line(f.name, strconv.FormatInt(f.of(m), 10), "", "")
	}
	for i, reason := range MissedReasons {
		line("missed "+reason, strconv.FormatInt(m.Missed[i], 10), "", "")
	}
	l := m.Lateness()
	for _, p := range []struct {
		name string
		ms   float64
	}{{"p50", l.P50}, {"p99", l.P99}, {"p99.9", l.P999}, {"worst", l.Worst}} {
		value := "" // nothing was made
		if !math.IsNaN(p.ms) {
			value = string(AppendMillis(nil, p.ms))
		}
		line("lateness "+p.name+" ms", value, "", "")
	}
	for _, o := range m.Outages {
		line("outage "+o.Reason, strconv.FormatInt(o.Runs, 10), job.FormatTime(o.From), job.FormatTime(o.To))
	}
	line("outages omitted", strconv.FormatInt(m.Omitted, 10), "", "")
	return b
}
