package google

import (
	"strconv"
	"strings"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
)

// The messages of Google's errors.
const (
	noTask      = "Task does not exist."
	purgedTask  = "The task no longer exists, though a task with this name existed recently. The task either successfully completed or was deleted."
	alreadyTask = "Requested entity already exists"
)

func (c *call) createTask(r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	if !isQueue(r.GetParent()) {
		return nil, invalid("parent", queueFormat)
	}
	q, err := c.findQueue(r.GetParent())
	if err != nil {
		return nil, err
	}
	return c.newTask(q, r)
}

// newTask stores a task in a queue.
func (c *call) newTask(q *queue, r *cloudtaskspb.CreateTaskRequest) (*cloudtaskspb.Task, error) {
	t := r.GetTask()
	switch name := t.GetName(); {
	case t == nil:
		return nil, invalid("task", "task is required")
	case name == "":
	case !isTask(name):
		return nil, invalid("task.name", taskFormat)
	case queueOf(name) != r.GetParent():
		return nil, invalid("task.name", "The queue name from request ("+strconv.Quote(r.GetParent())+
			") must be the same as the queue name in the named task ("+strconv.Quote(queueOf(name))+").")
	}
	body, err := c.api.createTask(q, t)
	if err != nil {
		return nil, err
	}
	leave, err := c.EnterParsing(len(body))
	if err != nil {
		return nil, err
	}
	j, conflict, err := c.api.Service.Create(c.ctx, c.Owner, body, nil)
	leave()
	if err != nil {
		return nil, translated(err, taskFields)
	}
	if conflict {
		return nil, exists(alreadyTask)
	}
	c.Created(j.Number)
	spec := job.ReadSpec(j.Args)
	return showTask(j, &spec, r.GetResponseView()), nil
}

// findTask returns an unfinished task. One that was purged is a failed precondition.
func (c *call) findTask(name string) (*job.Job, *job.Spec, error) {
	if !isTask(name) {
		return nil, nil, invalid("name", taskFormat)
	}
	q, err := c.findQueue(queueOf(name))
	if err != nil {
		return nil, nil, err
	}
	id := job.LastPart(name)
	j, err := c.api.Service.JobHolding(c.ctx, c.Owner, taskKey(q, id))
	if number, ok := taskNumber(id); ok && isNotFound(err) {
		j, err = c.api.Service.Job(c.ctx, c.Owner, job.Ref{UUID: number})
	}
	switch {
	case isNotFound(err):
		return nil, nil, notFound(noTask)
	case err != nil:
		return nil, nil, err
	case j.State == job.Cancelled && q.PurgeTime != nil && !j.InsertedAt.After(q.PurgeTime.AsTime()):
		return nil, nil, precondition(purgedTask)
	}
	return ofQueue(q, j)
}

// taskNumber returns the id of the job of a task whose client has given no name.
func taskNumber(id string) (uuid.UUID, bool) {
	number, err := uuid.Parse(id)
	return number, err == nil && len(id) == 32 && strings.ToLower(id) == id
}

// ofQueue returns a job, if it is an unfinished task of a queue.
func ofQueue(q *queue, j *job.Job) (*job.Job, *job.Spec, error) {
	spec := job.ReadSpec(j.Args)
	if !spec.Dialect.Speaks(job.DialectCloudTasks) || spec.Dialect.Queue != q.Name || j.State.Final() {
		return nil, nil, notFound(noTask)
	}
	return j, &spec, nil
}

// shown returns a task with its attempts.
func (c *call) shown(j *job.Job, spec *job.Spec, view cloudtaskspb.Task_View) (*cloudtaskspb.Task, error) {
	t := showTask(j, spec, view)
	if j.Attempt == 0 {
		return t, nil
	}
	details, err := c.api.Service.JobDetails(c.ctx, c.Owner, job.Ref{Number: j.Number})
	if isNotFound(err) {
		return nil, notFound(noTask)
	}
	if err != nil {
		return nil, err
	}
	addAttempts(t, details.Attempts)
	return t, nil
}

func (c *call) getTask(r *cloudtaskspb.GetTaskRequest) (*cloudtaskspb.Task, error) {
	j, spec, err := c.findTask(r.GetName())
	if err != nil {
		return nil, err
	}
	return c.shown(j, spec, r.GetResponseView())
}

func (c *call) deleteTask(r *cloudtaskspb.DeleteTaskRequest) (*emptypb.Empty, error) {
	j, _, err := c.findTask(r.GetName())
	if err != nil {
		return nil, err
	}
	done, err := c.api.Service.CancelPending(c.ctx, c.Owner, job.Ref{Number: j.Number})
	if isNotFound(err) || err == nil && !done {
		return nil, notFound(noTask)
	}
	return &emptypb.Empty{}, err
}

func (c *call) runTask(r *cloudtaskspb.RunTaskRequest) (*cloudtaskspb.Task, error) {
	j, spec, err := c.findTask(r.GetName())
	if err != nil {
		return nil, err
	}
	if j, err = c.api.Service.RunNow(c.ctx, c.Owner, job.Ref{Number: j.Number}); err != nil {
		return nil, err
	}
	return c.shown(j, spec, r.GetResponseView())
}

func (c *call) listTasks(r *cloudtaskspb.ListTasksRequest) (*cloudtaskspb.ListTasksResponse, error) {
	if !isQueue(r.GetParent()) {
		return nil, invalid("parent", queueFormat)
	}
	n, err := pageSize(r.GetPageSize(), maxTasks)
	if err != nil {
		return nil, err
	}
	q, err := c.findQueue(r.GetParent())
	if err != nil {
		return nil, err
	}
	scope := "tasks " + q.id
	after, err := readToken(r.GetPageToken(), scope)
	if err != nil {
		return nil, err
	}
	position, err := readPosition(after)
	if err != nil {
		return nil, err
	}
	jobs, next, err := c.api.Service.JobsNaming(c.ctx, c.Owner, limitKey(q.Name), position, n)
	if err != nil {
		return nil, err
	}
	response := &cloudtaskspb.ListTasksResponse{}
	for _, j := range jobs {
		if _, spec, err := ofQueue(q, j); err == nil {
			response.Tasks = append(response.Tasks, showTask(j, spec, r.GetResponseView()))
		}
	}
	if next != nil {
		response.NextPageToken = tokenOf(formatPosition(*next), scope)
	}
	return response, nil
}

func formatPosition(p limit.Position) string {
	return strconv.FormatInt(p.State, 10) + "." + strconv.FormatInt(p.Due, 10) + "." + strconv.FormatInt(p.Number, 10)
}

func readPosition(text string) (p limit.Position, err error) {
	if text == "" {
		return p, nil
	}
	parts := strings.Split(text, ".")
	into := []*int64{&p.State, &p.Due, &p.Number}
	for i := range into {
		if len(parts) == len(into) && err == nil {
			*into[i], err = strconv.ParseInt(parts[i], 10, 64)
		}
	}
	if err != nil || len(parts) != len(into) {
		return p, invalid("page_token", "page_token is not one of this list")
	}
	return p, nil
}
