package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var operationRoutes = []route{
	{"/operations", forSignedIn, map[string]handler{"GET": (*Server).operations, "POST": (*Server).startOperation}},
	{"/operations/new", forSignedIn, map[string]handler{"GET": (*Server).newOperation}},
	{"/operations/{operation_id}", forSignedIn, map[string]handler{"GET": (*Server).operation}},
	{"/operations/{operation_id}/stop", forSignedIn, map[string]handler{"POST": (*Server).stopOperation}},
}

// operationsShown is how many operations a page of the list has.
const operationsShown = 20

func (s *Server) operations(c *call) error {
	query := job.ListQuery{Limit: operationsShown}
	query.AfterID, _ = job.ParseID(c.param("after")) // anything else is the first page
	page, err := s.Service.AllOperations(c.r.Context(), c.owner(), query)
	if err != nil {
		return err
	}
	list := &view.Operations{Operations: page.Items}
	if query.AfterID != uuid.Nil {
		list.First = c.here("after", "")
	}
	if page.Next != nil {
		list.Next = c.here("after", page.Next.AfterID.String())
	}
	return c.render(http.StatusOK, view.OperationsPage(list))
}

// newOperation shows the form, filled with the filters of a list of jobs.
func (s *Server) newOperation(c *call) error {
	values, _ := tidy(c.r.URL.Query())
	if len(values.Encode()) > maxFilters {
		return fault.New(fault.Invalid, "The filters may have at most 1,500 bytes.")
	}
	d := &view.NewOperation{Values: url.Values{"zone": {ui.From(c.r.Context()).Now.Location().String()}}}
	for _, f := range job.FiltersOf(job.OfOperations) {
		d.Values.Set(f.Name, strings.Join(values[f.Name], " "))
	}
	return c.render(http.StatusOK, view.NewOperationPage(d))
}

// startOperation counts the jobs of an operation or, after that, starts it.
func (s *Server) startOperation(c *call) error {
	d := &view.NewOperation{Values: c.r.PostForm, Problems: map[string]string{}}
	body := s.readOperation(d)
	if len(d.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.NewOperationPage(d))
	}
	request, err := s.Service.ReadOperation(c.r.Context(), c.owner(), body)
	if err != nil {
		return c.refuseOperation(d, err)
	}
	if c.r.PostForm.Get("go") == "start" {
		o, err := s.Service.StartOperation(c.r.Context(), c.owner(), request)
		if err != nil {
			return c.refuseOperation(d, err)
		}
		return c.redirect("/operations/%s", o.ID)
	}
	if c.r.PostForm.Get("go") == "form" {
		return c.render(http.StatusOK, view.NewOperationPage(d))
	}
	matched, partial, err := s.Service.CountMatches(c.r.Context(), c.owner(), request)
	if err != nil {
		return c.refuseOperation(d, err)
	}
	n := &view.CountedOperation{NewOperation: d, Matched: ui.Count(matched), Any: matched > 0 || partial, Hidden: d.Values,
		Filter: request.Filter, Set: request.Set}
	if partial {
		n.Matched = "at least " + n.Matched
	}
	if n.Calls, err = s.readCalls(c, request); err != nil {
		return err
	}
	if of := request.Selection.Query.Schedule; of != uuid.Nil {
		if found, err := s.Service.Schedule(c.r.Context(), c.owner(), of); err == nil {
			n.Schedule = found
		}
	}
	return c.render(http.StatusOK, view.CountedOperationPage(n))
}

// callsRead is of how many matching jobs the requests are named.
const callsRead = 10

// readCalls returns what the newest jobs that match an operation call.
func (s *Server) readCalls(c *call, r *job.OperationRequest) ([]view.OperationCall, error) {
	query := r.Selection.Query
	query.Limit = callsRead
	page, err := s.Service.Jobs(c.r.Context(), c.owner(), query)
	var calls []view.OperationCall
	for _, j := range page.Items {
		spec := job.ReadSpec(j.Args)
		same := slices.IndexFunc(calls, func(one view.OperationCall) bool { return one.Method == spec.Method && one.URL == spec.URL })
		if same < 0 {
			calls = append(calls, view.OperationCall{Method: spec.Method, URL: spec.URL, Job: j.Number})
		}
	}
	return calls, err
}

// readOutcome counts the jobs that were created while an operation reran jobs, by state.
func (s *Server) readOutcome(c *call, d *view.Operation) error {
	if d.Action != job.RerunJobs || d.Done == 0 {
		return nil
	}
	query := job.Query{Since: d.InsertedAt, Until: d.FinishedAt}
	values := url.Values{"since": {job.FormatTime(d.InsertedAt)}}
	if !d.FinishedAt.IsZero() {
		query.Until = d.FinishedAt.Add(time.Microsecond)
		values.Set("until", job.FormatTime(query.Until))
	}
	var err error
	d.Created = "/jobs?" + values.Encode()
	d.Outcome, d.OutcomePartly, err = s.Service.Counts(c.r.Context(), c.owner(), query, maxRetrying)
	return err
}

// refuseOperation shows the form again with its problems.
func (c *call) refuseOperation(d *view.NewOperation, err error) error {
	if !ofRecordForm(err) {
		return err
	}
	d.Err = err
	return c.render(c.statusOf(err), view.NewOperationPage(d))
}

// readOperation returns the request that a form describes. Problems of the texts
// are set in the form.
func (s *Server) readOperation(d *view.NewOperation) rawjson.Value {
	var filter []rawjson.Member
	for _, f := range job.FiltersOf(job.OfOperations) {
		text := strings.TrimSpace(d.Values.Get(f.Name))
		switch {
		case text == "":
		case f.Repeats():
			filter = append(filter, rawjson.Member{Name: f.InFilter(), Value: quoteAll(words(text))})
		default:
			filter = append(filter, rawjson.Member{Name: f.InFilter(), Value: rawjson.Quote(text)})
		}
	}
	members := []rawjson.Member{{Name: "action", Value: rawjson.Quote(d.Values.Get("action"))},
		{Name: "filter", Value: rawjson.Object(filter)}}
	if d.Values.Get("all") == "true" {
		members = append(members, rawjson.Member{Name: "all", Value: rawjson.Value(`true`)})
	}
	if set := s.readOperationSet(d); len(set) > 0 {
		members = append(members, rawjson.Member{Name: "set", Value: rawjson.Object(set)})
	}
	return rawjson.Object(members)
}

// readOperationSet returns the members of set; none for actions that have none.
func (s *Server) readOperationSet(d *view.NewOperation) []rawjson.Member {
	action := job.Action(d.Values.Get("action"))
	if action != job.RerunJobs && action != job.RescheduleJobs {
		return nil
	}
	var set []rawjson.Member
	if text := strings.TrimSpace(d.Values.Get("fields")); text != "" && action == job.RerunJobs {
		v, err := rawjson.Read([]byte(text))
		if err != nil || v.Kind() != '{' {
			d.Problems["fields"] = "must be a JSON object"
		}
		set = rawjson.Members(v)
	}
	if text := d.Values.Get("when"); strings.TrimSpace(text) != "" {
		timing, problem := readWhen(text, d.Values.Get("zone"), s.Service.Now())
		if problem == "" && (timing.Every != nil || timing.Cron != "") {
			problem = "is a recurrence; give a time"
		}
		if problem != "" {
			d.Problems["when"] = problem
		}
		times := timing.Members()
		if len(times) == 0 { // now
			times = []rawjson.Member{{Name: "schedule_in", Value: rawjson.Value(`0`)}}
		}
		set = append(set, times...)
	}
	spread := job.Field{Kind: job.DurationValue}
	if v := spread.Value(d.Values.Get("spread")); v != nil {
		set = append(set, rawjson.Member{Name: "spread", Value: v})
	}
	return set
}

// quoteAll returns texts as a list of strings.
func quoteAll(texts []string) rawjson.Value {
	elements := make([]rawjson.Value, len(texts))
	for i, text := range texts {
		elements[i] = rawjson.Quote(text)
	}
	return rawjson.Array(elements)
}

// operationID parses the operation in the path.
func (c *call) operationID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("operation_id"))
	if !ok || id == uuid.Nil {
		return id, fault.NoSuch("operation")
	}
	return id, nil
}

func (s *Server) operation(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	o, err := s.Service.Operation(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	d := &view.Operation{Operation: o, Self: c.href("/operations/%s?part=operation", id), Notice: c.notice()}
	if err := s.readOutcome(c, d); err != nil {
		return err
	}
	if c.part() == "operation" {
		return c.render(http.StatusOK, view.OperationPart(d))
	}
	return c.render(http.StatusOK, view.OperationPage(d))
}

func (s *Server) stopOperation(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	_, stopped, err := s.Service.StopOperation(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	if stopped {
		return c.redirect("/operations/%s?done=stopped", id)
	}
	return c.redirect("/operations/%s", id)
}
