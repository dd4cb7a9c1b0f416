package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var limitRoutes = []route{
	{"/limits", forSignedIn, map[string]handler{"GET": (*Server).receiverLimits, "POST": (*Server).setLimit}},
	{"/limits/{key}", forSignedIn, map[string]handler{"GET": (*Server).receiverLimit}},
	{"/limits/{key}/pause", forSignedIn, map[string]handler{"POST": (*Server).pauseLimit}},
	{"/limits/{key}/resume", forSignedIn, map[string]handler{"POST": (*Server).resumeLimit}},
	{"/limits/{key}/delete", forSignedIn, map[string]handler{"POST": (*Server).deleteLimit}},
}

const (
	// limitsShown is how many limits a page of the list has.
	limitsShown = 50
	// linesCounted is of how many limits the jobs that wait are counted, lineCounted how
	// many of each.
	linesCounted, lineCounted = 200, 100
	// waitingShown is how many jobs that wait for a limit its page lists.
	waitingShown = 20
)

// receiverLimits lists the account's limits for receivers. The parameter key fills
// the form with that limit.
func (s *Server) receiverLimits(c *call) error {
	d, err := s.readLimits(c)
	if err != nil {
		return err
	}
	c.undoLimitEdit()
	d.Form.Values = url.Values{}
	if key := c.param("key"); key != "" {
		use, err := s.Service.Limit(c.r.Context(), c.owner(), key)
		switch {
		case err == nil:
			d.Form.Values = limitValues(use.Record)
		case fault.CodeOf(err) != fault.NotFound:
			return err
		}
	}
	return c.render(http.StatusOK, view.LimitsPage(d))
}

func (s *Server) readLimits(c *call) (*view.Limits, error) {
	after := c.param("after")
	found, err := s.Service.Limits(c.r.Context(), c.owner(), after, limitsShown+1)
	if err != nil {
		return nil, err
	}
	d := &view.Limits{Notice: c.notice(), Form: view.Refusal{Form: "limit"}}
	if after != "" {
		d.First = "/limits"
	}
	if len(found) > limitsShown {
		found = found[:limitsShown]
		d.Next = "/limits?after=" + url.QueryEscape(found[limitsShown-1].Key)
	}
	lines, err := s.Service.LimitsWaiting(c.r.Context(), c.owner(), linesCounted, lineCounted)
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		row := limitRow(l)
		for _, line := range lines {
			if line.Key == l.Key && line.Waiting > 0 {
				row.Waiting = ui.Plural(line.Waiting, "job waits", "jobs wait") + " since " +
					ui.Clock(ui.From(c.r.Context()).Now, line.Since)
				if line.Waiting >= lineCounted {
					row.Waiting = "at least " + row.Waiting
				}
			}
		}
		d.Limits = append(d.Limits, row)
	}
	return d, nil
}

// limitRow returns how the page shows a limit.
func limitRow(l limit.Record) view.Limit {
	row := view.Limit{Key: l.Key, Paused: l.Paused}
	var words []string
	if l.Calls > 0 {
		words = append(words, ui.Plural(l.Calls, "call", "calls")+" in "+ui.Period(l.Per))
	}
	if l.Parallel > 0 {
		words = append(words, ui.Count(int64(l.Parallel))+" at once")
	}
	if l.Ordered {
		words = append(words, "in order")
	}
	if row.Words = strings.Join(words, ", "); len(words) == 0 {
		row.Words = "no limit"
	}
	return row
}

// limitValues returns the texts of the form for a limit.
func limitValues(l limit.Record) url.Values {
	values := url.Values{"key": {l.Key}}
	if l.Calls > 0 {
		values.Set("calls", strconv.Itoa(l.Calls))
		values.Set("per", strconv.FormatFloat(l.Per.Seconds(), 'f', -1, 64)+" seconds")
	}
	if l.Parallel > 0 {
		values.Set("parallel", strconv.Itoa(l.Parallel))
	}
	if l.Ordered {
		values.Set("ordered", "true")
	}
	if l.Paused {
		values.Set("paused", "true")
	}
	return values
}

// limitBody returns the request that a form describes.
func limitBody(form url.Values) rawjson.Value {
	whole, duration := job.Field{Kind: job.WholeValue}, job.Field{Kind: job.DurationValue}
	var members, rate []rawjson.Member
	if v := whole.Value(form.Get("calls")); v != nil {
		rate = append(rate, rawjson.Member{Name: "calls", Value: v})
	}
	if v := duration.Value(form.Get("per")); v != nil {
		rate = append(rate, rawjson.Member{Name: "per", Value: v})
	}
	if len(rate) > 0 {
		members = append(members, rawjson.Member{Name: "rate", Value: rawjson.Object(rate)})
	}
	if v := whole.Value(form.Get("parallel")); v != nil {
		members = append(members, rawjson.Member{Name: "parallel", Value: v})
	}
	for _, name := range []string{"ordered", "paused"} {
		if form.Get(name) == "true" {
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Value(`true`)})
		}
	}
	return rawjson.Object(members)
}

// refuseLimit shows the limits again with what is wrong.
func (s *Server) refuseLimit(c *call, refused error) error {
	if !ofRecordForm(refused) {
		return refused
	}
	d, err := s.readLimits(c)
	if err != nil {
		return err
	}
	d.Form.Values, d.Form.Err = c.r.PostForm, refused
	return c.render(c.statusOf(refused), view.LimitsPage(d))
}

func (s *Server) setLimit(c *call) error {
	key := strings.TrimSpace(c.r.PostForm.Get("key"))
	was, err := s.Service.Limit(c.r.Context(), c.owner(), key)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	_, created, err := s.Service.SetLimit(c.r.Context(), c.owner(), key, limitBody(c.r.PostForm), service.Match{})
	switch {
	case err != nil:
		return s.refuseLimit(c, err)
	case created:
		return c.redirect("/limits?done=limitcreated")
	case was != nil:
		c.rememberLimit("limitchanged", was.Record)
	}
	return c.redirect("/limits?done=limitchanged")
}

// receiverLimit shows a limit with its use.
func (s *Server) receiverLimit(c *call) error {
	use, err := s.Service.Limit(c.r.Context(), c.owner(), c.r.PathValue("key"))
	if err != nil {
		return err
	}
	d := &view.LimitUse{
		Limit: limitRow(use.Record), Waiting: countUpTo(use.Waiting), InFlight: countUpTo(use.InFlight), NextAt: use.NextAt,
		First: use.First, WaitingFor: strings.Join(use.WaitingFor, ", "),
		Self: "/limits/" + url.PathEscape(use.Key) + "?part=use", Notice: c.notice(),
	}
	jobs, next, err := s.Service.JobsNaming(c.r.Context(), c.owner(), use.Key, limit.Position{}, waitingShown)
	if err != nil {
		return err
	}
	service.ShowOwnDue(jobs...)
	d.Jobs, d.MoreJobs = jobs, next != nil
	if c.part() == "use" {
		return c.render(http.StatusOK, view.LimitUsePart(d))
	}
	c.undoLimitPause(use.Key)
	return c.render(http.StatusOK, view.LimitPage(d))
}

// countUpTo formats a count that stops at limit.MaxCount.
func countUpTo(n int) string {
	if n >= limit.MaxCount {
		return ui.Count(int64(n)) + " or more"
	}
	return ui.Count(int64(n))
}

func (s *Server) pauseLimit(c *call) error { return s.setPaused(c, true, "limitpaused") }

func (s *Server) resumeLimit(c *call) error { return s.setPaused(c, false, "limitresumed") }

// setPaused pauses a limit or lifts its pause.
func (s *Server) setPaused(c *call, paused bool, done string) error {
	ctx, key := c.r.Context(), c.r.PathValue("key")
	use, err := s.Service.Limit(ctx, c.owner(), key)
	if err != nil {
		return err
	}
	values := limitValues(use.Record)
	values.Set("paused", strconv.FormatBool(paused))
	if _, _, err := s.Service.SetLimit(ctx, c.owner(), key, limitBody(values), service.Match{}); err != nil {
		return err
	}
	c.rememberUndo(done, url.QueryEscape(key))
	return c.redirect("/limits/%s?done=%s", url.PathEscape(key), done)
}

func (s *Server) deleteLimit(c *call) error {
	ctx, key := c.r.Context(), c.r.PathValue("key")
	was, err := s.Service.Limit(ctx, c.owner(), key)
	if err != nil {
		return err
	}
	if err := s.Service.DeleteLimit(ctx, c.owner(), key); err != nil {
		return s.refuseLimit(c, err)
	}
	c.rememberLimit("limitdeleted", was.Record)
	return c.redirect("/limits?done=limitdeleted")
}
