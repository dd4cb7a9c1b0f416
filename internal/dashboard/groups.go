package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var groupRoutes = []route{
	{"/groups", forSignedIn, map[string]handler{"GET": (*Server).groups, "POST": (*Server).setGroup}},
	{"/groups/{name}", forSignedIn, map[string]handler{"GET": (*Server).group}},
	{"/groups/{name}/delete", forSignedIn, map[string]handler{"POST": (*Server).deleteGroup}},
	{"/groups/{name}/runs/{job_id}/cancel", forSignedIn, map[string]handler{"POST": (*Server).cancelGroupRun}},
}

const (
	// groupsShown is how many groups a page of the list has, and groupSchedulesCounted up
	// to how many schedules of each are counted.
	groupsShown, groupSchedulesCounted = 20, 20
	// groupSchedulesShown and groupRunsShown are how many schedules and runs the page of a
	// group lists.
	groupSchedulesShown, groupRunsShown = 20, 10
)

// groups lists the account's groups. The parameter name fills the form with that group.
func (s *Server) groups(c *call) error {
	d, err := s.readGroups(c)
	if err != nil {
		return err
	}
	d.Form.Values = url.Values{}
	if name := c.param("name"); name != "" {
		g, err := s.Service.Group(c.r.Context(), c.owner(), name)
		switch {
		case err == nil:
			d.Form.Values = groupValues(g)
		case fault.CodeOf(err) != fault.NotFound:
			return err
		}
	}
	return c.render(http.StatusOK, view.GroupsPage(d))
}

func (s *Server) readGroups(c *call) (*view.Groups, error) {
	ctx, after := c.r.Context(), c.param("after")
	found, err := s.Service.Groups(ctx, c.owner(), after, groupsShown+1)
	if err != nil {
		return nil, err
	}
	d := &view.Groups{Notice: c.notice(), Form: view.Refusal{Form: "group"}}
	if after != "" {
		d.First = "/groups"
	}
	if len(found) > groupsShown {
		found = found[:groupsShown]
		d.Next = "/groups?after=" + url.QueryEscape(found[groupsShown-1].Name)
	}
	for _, g := range found {
		named, err := s.Service.SchedulesNaming(ctx, c.owner(), g.Name, groupSchedulesCounted)
		if err != nil {
			return nil, err
		}
		row := view.Group{Group: g, Schedules: ui.Count(int64(len(named)))}
		if len(named) == groupSchedulesCounted {
			row.Schedules += " or more"
		}
		d.Groups = append(d.Groups, row)
	}
	return d, nil
}

// groupValues returns the texts of the form for a group.
func groupValues(g *job.Group) url.Values {
	var lines []string
	for _, t := range view.GroupTargets(g) {
		lines = append(lines, t.Name+" "+t.URL)
	}
	return url.Values{"name": {g.Name}, "targets": {strings.Join(lines, "\n")},
		"revision": {strconv.FormatInt(g.Revision(), 10)}}
}

// groupBody returns the request that a form describes. Targets have the headers of those
// with the same name in old, which is nil if there is no group yet.
func groupBody(text string, old *job.Group) rawjson.Value {
	headers := map[string]rawjson.Value{}
	if old != nil {
		for _, t := range rawjson.Elements(old.Targets) {
			if h := rawjson.Get(t, "headers"); h != nil {
				headers[rawjson.Text(rawjson.Get(t, "name"))] = h
			}
		}
	}
	var targets []rawjson.Value
	for line := range strings.Lines(text) {
		name, address, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		members := []rawjson.Member{{Name: "name", Value: rawjson.Quote(name)},
			{Name: "url", Value: rawjson.Quote(strings.TrimSpace(address))}}
		if h := headers[name]; h != nil {
			members = append(members, rawjson.Member{Name: "headers", Value: h})
		}
		targets = append(targets, rawjson.Object(members))
	}
	return rawjson.Object([]rawjson.Member{{Name: "targets", Value: rawjson.Array(targets)}})
}

func (s *Server) setGroup(c *call) error {
	ctx, form := c.r.Context(), c.r.PostForm
	name := strings.TrimSpace(form.Get("name"))
	old, err := s.Service.Group(ctx, c.owner(), name)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	var match service.Match
	if old != nil { // its headers are kept, so it must not change meanwhile
		match = service.Match{Given: true, Revisions: []int64{old.Revision()}}
		if revision, err := strconv.ParseInt(form.Get("revision"), 10, 64); err == nil && revision > 0 {
			match.Revisions[0] = revision
		}
	}
	_, created, err := s.Service.SetGroup(ctx, c.owner(), name, groupBody(form.Get("targets"), old), match)
	switch {
	case fault.CodeOf(err) == fault.Stale:
		return s.refuseGroup(c, fault.New(fault.Conflict, "The group has been changed since. Open it again, then make your change."))
	case err != nil:
		return s.refuseGroup(c, err)
	case created:
		return c.redirect("/groups?done=groupcreated")
	}
	return c.redirect("/groups/%s?done=groupchanged", url.PathEscape(name))
}

// refuseGroup shows the groups again with what is wrong.
func (s *Server) refuseGroup(c *call, refused error) error {
	if !ofRecordForm(refused) {
		return refused
	}
	d, err := s.readGroups(c)
	if err != nil {
		return err
	}
	d.Form.Values, d.Form.Err = c.r.PostForm, refused
	return c.render(c.statusOf(refused), view.GroupsPage(d))
}

func (s *Server) deleteGroup(c *call) error {
	if err := s.Service.DeleteGroup(c.r.Context(), c.owner(), c.r.PathValue("name"), service.Match{}); err != nil {
		return s.refuseGroup(c, err)
	}
	return c.redirect("/groups?done=groupdeleted")
}

// group shows a group with the schedules that name it, and their runs.
func (s *Server) group(c *call) error {
	ctx := c.r.Context()
	g, err := s.Service.Group(ctx, c.owner(), c.r.PathValue("name"))
	if err != nil {
		return err
	}
	d := &view.GroupUse{Group: g, Notice: c.notice(), MayEdit: c.may(identity.RoleEditor),
		Self: "/groups/" + url.PathEscape(g.Name) + "?part=group"}
	tag := []string{job.GroupTag(g.Name)}
	runs, err := s.Service.Jobs(ctx, c.owner(), job.Query{ListQuery: job.ListQuery{Limit: groupRunsShown}, Tags: tag})
	if err != nil {
		return err
	}
	for _, run := range runs.Items {
		row := view.GroupRun{Job: run}
		if row.Jobs, _, err = s.Service.Counts(ctx, c.owner(), job.Query{Parent: run.Number}, job.MaxTargets); err != nil {
			return err
		}
		d.Runs = append(d.Runs, row)
	}
	if c.part() == "group" {
		return c.render(http.StatusOK, view.GroupUsePart(d))
	}
	schedules, err := s.Service.Schedules(ctx, c.owner(),
		job.ScheduleQuery{ListQuery: job.ListQuery{Limit: groupSchedulesShown}, Tags: tag})
	if err != nil {
		return err
	}
	d.Schedules, d.MoreSchedules = schedules.Items, schedules.Next != nil
	return c.render(http.StatusOK, view.GroupPage(d))
}

// cancelGroupRun cancels a run with the group, or the unfinished jobs that it became.
func (s *Server) cancelGroupRun(c *call) error {
	ctx, name := c.r.Context(), c.r.PathValue("name")
	id, err := c.jobID()
	if err != nil {
		return err
	}
	run, err := s.Service.Job(ctx, c.owner(), id)
	if err != nil {
		return err
	}
	if job.GroupNamed(run.Args) != name {
		return noJob
	}
	n, err := s.cancelAll(c, []job.Ref{{Number: run.Number}})
	if err != nil {
		return err
	}
	if n == 0 { // it has ended, so it has become its jobs
		details, err := s.Service.JobDetails(ctx, c.owner(), id)
		if err != nil {
			return err
		}
		var ids []job.Ref
		for _, number := range details.Children {
			ids = append(ids, job.Ref{Number: number})
		}
		if n, err = s.cancelAll(c, ids); err != nil {
			return err
		}
	}
	return c.redirect("/groups/%s?done=selected&count=%d", url.PathEscape(name), n)
}
