package dashboard

import (
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// editable is a record that a form changes, in two steps: the form, then the
// difference.
type editable struct {
	view.Editing
	places   job.Places    // the fields of the form
	request  rawjson.Value // a request that creates the record, as far as the form needs it
	args     rawjson.Value
	when     string // the texts of the form's inputs for the times
	zone     string
	recurs   bool
	revision int64 // 0 if what is changed is a copy
	// preview returns what a patch would change.
	preview func(patch rawjson.Value) ([]job.FieldChange, error)
	// rehearse returns how a patch would change the runs of a schedule, or nil; the field
	// is nil for jobs.
	rehearse func(patch rawjson.Value) (*view.RunsChange, error)
	// save applies a patch and returns the address to continue at.
	save func(patch rawjson.Value, match service.Match) (string, error)
	// revisions returns the record's edits, latest first; nil for a copy.
	revisions func() ([]*job.Revision, error)
}

// showEdit shows the form for a record.
func (s *Server) showEdit(c *call, e *editable) error {
	f := newEditForm(c, e, nil)
	return c.render(http.StatusOK, view.EditPage(f.page()))
}

// postEdit continues from the form or from the difference.
func (s *Server) postEdit(c *call, e *editable) error {
	f := newEditForm(c, e, c.r.PostForm)
	patch := f.patch(s.Service.Now())
	if c.r.PostForm.Get("go") == "form" {
		return c.render(http.StatusOK, view.EditPage(f.page()))
	}
	if len(f.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.EditPage(f.page()))
	}
	shown, _ := strconv.ParseInt(c.r.PostForm.Get("revision"), 10, 64) // anything else is stale
	if c.r.PostForm.Get("go") == "save" {
		at, err := e.save(patch, service.Match{Given: e.revision > 0, Revisions: []int64{shown}})
		switch {
		case err == nil:
			http.Redirect(c, c.r, at, http.StatusSeeOther)
			return nil
		case fault.CodeOf(err) == fault.Stale:
			return s.showDifference(c, http.StatusPreconditionFailed, f, patch, shown)
		}
		return f.refuse(c, err)
	}
	return s.showDifference(c, http.StatusOK, f, patch, shown)
}

// showDifference shows what a patch would change and, if the record is not as the
// form showed it, what has changed since.
func (s *Server) showDifference(c *call, status int, f *editForm, patch rawjson.Value, shown int64) error {
	changes, err := f.target.preview(patch)
	if err != nil {
		return f.refuse(c, err)
	}
	d := &view.Difference{Edit: f.page(), Changes: view.ChangesOf(changes), Hidden: f.Values}
	if f.target.rehearse != nil && len(changes) > 0 {
		if d.Runs, err = f.target.rehearse(patch); err != nil {
			return f.refuse(c, err)
		}
	}
	if f.target.revisions != nil && shown != f.target.revision {
		all, err := f.target.revisions()
		if err != nil {
			return err
		}
		for _, r := range all {
			if r.Number > shown {
				d.Meanwhile = append(d.Meanwhile, view.RevisionOf(r))
			}
		}
	}
	return c.render(status, view.DifferencePage(d))
}

// refuse shows the form again with its problems.
func (f *editForm) refuse(c *call, err error) error {
	if !ofRecordForm(err) {
		return err
	}
	if f.blame(err); !f.wrong() {
		f.others = append(f.others, ui.Sentence(err.Error()))
	}
	return c.render(c.statusOf(err), view.EditPage(f.page()))
}
