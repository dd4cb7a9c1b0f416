package dashboard

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var editRoutes = []route{
	{"/schedules/{schedule_id}/edit", forMembers, editOf((*Server).editableSchedule)},
	{"/schedules/{schedule_id}/history", forMembers, map[string]handler{"GET": (*Server).scheduleHistory}},
	{"/jobs/{job_id}/edit", forMembers, editOf((*Server).editableJob)},
	{"/jobs/{job_id}/rerun/edit", forMembers, editOf((*Server).editableRerun)},
	{"/jobs/{job_id}/history", forMembers, map[string]handler{"GET": (*Server).jobHistory}},
}

// editOf returns the handlers of the pages that change a record.
func editOf(read func(*Server, *call) (*editable, error)) map[string]handler {
	with := func(next func(*Server, *call, *editable) error) handler {
		return func(s *Server, c *call) error {
			e, err := read(s, c)
			if err != nil {
				return err
			}
			return next(s, c, e)
		}
	}
	return map[string]handler{"GET": with((*Server).showEdit), "POST": with((*Server).postEdit)}
}

// withTexts returns args with the fields that have columns of their own.
func withTexts(args rawjson.Value, name, description *string) rawjson.Value {
	members := rawjson.Members(args)
	for _, m := range []struct {
		name string
		text *string
	}{{"name", name}, {"description", description}} {
		if m.text != nil {
			members = append(members, rawjson.Member{Name: m.name, Value: rawjson.Quote(*m.text)})
		}
	}
	return rawjson.Object(members)
}

func (s *Server) editableSchedule(c *call) (*editable, error) {
	ctx := c.r.Context()
	id, err := c.scheduleID()
	if err != nil {
		return nil, err
	}
	found, err := s.Service.Schedule(ctx, c.owner(), id)
	if err != nil {
		return nil, err
	}
	spec, page := job.ReadSpec(found.Args), c.href("/schedules/%s", id)
	return &editable{
		Editing: view.Editing{
			Title: "Edit", Record: view.ScheduleTitle(found), Area: "schedules", Back: page, Action: page + "/edit", Recurs: true,
			Verb: "Save changes", Note: "The pending run takes the changes over. A run that has started keeps what it has.",
		},
		places: job.EditSchedule, request: withTexts(found.Args, found.Name, found.Description), args: found.Args,
		when: view.Frequency(&spec), zone: view.Zone(&spec), recurs: true, revision: found.Revision,
		preview: func(patch rawjson.Value) ([]job.FieldChange, error) {
			edit, err := s.Service.PreviewScheduleEdit(ctx, c.owner(), id, patch)
			if err != nil {
				return nil, err
			}
			return edit.Changes, nil
		},
		rehearse: func(patch rawjson.Value) (*view.RunsChange, error) { return s.rehearsedEdit(c, id, patch) },
		save: func(patch rawjson.Value, match service.Match) (string, error) {
			_, err := s.Service.EditSchedule(ctx, c.owner(), id, patch, match)
			return page + "?done=edited", err
		},
		revisions: func() ([]*job.Revision, error) { return s.Service.ScheduleRevisions(ctx, c.owner(), id) },
	}, nil
}

// pathJob returns the job in the path.
func (s *Server) pathJob(c *call) (*job.Job, error) {
	id, err := c.jobID()
	if err != nil {
		return nil, err
	}
	return s.Service.Job(c.r.Context(), c.owner(), id)
}

func (s *Server) editableJob(c *call) (*editable, error) {
	ctx := c.r.Context()
	j, err := s.pathJob(c)
	if err != nil {
		return nil, err
	}
	id, page := job.Ref{Number: j.Number}, c.href("/jobs/%d", j.Number)
	e := &editable{
		Editing: view.Editing{
			Title: "Edit", Record: view.JobTitle(j), Area: "jobs", Back: page, Action: page + "/edit", Verb: "Save changes",
			When: "Empty keeps the time: due " + ui.ExactIn(j.ScheduledAt, ui.From(ctx).Now.Location()) + ".",
		},
		places: job.EditJob, request: withTexts(j.Args, j.Name, j.Description), args: j.Args, zone: "UTC", revision: j.Revision,
		preview: func(patch rawjson.Value) ([]job.FieldChange, error) {
			edit, err := s.Service.PreviewJobEdit(ctx, c.owner(), id, patch)
			if err != nil {
				return nil, err
			}
			return edit.Changes, nil
		},
		save: func(patch rawjson.Value, match service.Match) (string, error) {
			_, err := s.Service.EditJob(ctx, c.owner(), id, patch, match)
			return page + "?done=jobedited", err
		},
		revisions: func() ([]*job.Revision, error) { return s.Service.JobRevisions(ctx, c.owner(), id) },
	}
	if j.ScheduleID != uuid.Nil {
		e.places, e.Note = job.EditRun, "This changes one run only. Everything else is changed with its schedule."
	}
	return e, nil
}

// editableRerun is a new job with the request of another, apart from what the form
// changes.
func (s *Server) editableRerun(c *call) (*editable, error) {
	ctx := c.r.Context()
	j, err := s.pathJob(c)
	if err != nil {
		return nil, err
	}
	request, page, id := job.Again(j), c.href("/jobs/%d", j.Number), job.Ref{Number: j.Number}
	return &editable{
		Editing: view.Editing{
			Title: "Run again with changes", Record: view.JobTitle(j), Area: "jobs", Back: page, Action: page + "/rerun/edit",
			Verb: "Create new job",
			When: "Empty is now.", Note: "This creates a new job. The old one stays as it is.",
		},
		places: job.EditJob, request: request, args: j.Args, zone: "UTC",
		preview: func(patch rawjson.Value) ([]job.FieldChange, error) {
			if err := s.Service.PreviewRerun(ctx, c.owner(), id, patch); err != nil {
				return nil, err
			}
			var changes []job.FieldChange
			for _, m := range rawjson.Members(patch) {
				changes = append(changes, job.FieldChange{Path: "/" + m.Name, From: rawjson.Get(request, m.Name), To: m.Value})
			}
			return changes, nil
		},
		save: func(patch rawjson.Value, _ service.Match) (string, error) {
			again, _, err := s.Service.Rerun(ctx, c.owner(), id, patch, nil)
			if err != nil {
				return "", err
			}
			return c.href("/jobs/%d?done=changed", again.Number), nil
		},
	}, nil
}

// scheduleHistory shows the edits of a schedule.
func (s *Server) scheduleHistory(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	found, err := s.Service.Schedule(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	all, err := s.Service.ScheduleRevisions(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	h := &view.History{Record: view.ScheduleTitle(found), Area: "schedules", Back: c.href("/schedules/%s", id), CreatedAt: found.InsertedAt}
	return s.showHistory(c, h, all)
}

// jobHistory shows the edits of a job.
func (s *Server) jobHistory(c *call) error {
	j, err := s.pathJob(c)
	if err != nil {
		return err
	}
	all, err := s.Service.JobRevisions(c.r.Context(), c.owner(), job.Ref{Number: j.Number})
	if err != nil {
		return err
	}
	h := &view.History{Record: view.JobTitle(j), Area: "jobs", Back: c.href("/jobs/%d", j.Number), CreatedAt: j.InsertedAt}
	return s.showHistory(c, h, all)
}

func (s *Server) showHistory(c *call, h *view.History, all []*job.Revision) error {
	for _, r := range all {
		h.Revisions = append(h.Revisions, view.RevisionOf(r))
	}
	return c.render(http.StatusOK, view.HistoryPage(h))
}
