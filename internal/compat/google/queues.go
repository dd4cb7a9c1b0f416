package google

import (
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/service"
)

const (
	noQueue      = "Queue does not exist. If you just created the queue, check its name and the key you use."
	alreadyQueue = "Queue already exists"
)

// findQueue returns a queue.
func (c *call) findQueue(name string) (*queue, error) {
	if !isQueue(name) {
		return nil, notFound(noQueue)
	}
	found, err := c.api.Service.LimitNamed(c.ctx, c.Owner, limitKey(name))
	if isNotFound(err) {
		return nil, notFound(noQueue)
	}
	if err != nil {
		return nil, err
	}
	q := readQueue(found)
	if q == nil || q.Name != name {
		return nil, notFound(noQueue)
	}
	return q, nil
}

func (c *call) getQueue(r *cloudtaskspb.GetQueueRequest) (*cloudtaskspb.Queue, error) {
	q, err := c.findQueue(r.GetName())
	if err != nil {
		return nil, err
	}
	return q.Queue, nil
}

func (c *call) listQueues(r *cloudtaskspb.ListQueuesRequest) (*cloudtaskspb.ListQueuesResponse, error) {
	if !isLocation(r.GetParent()) {
		return nil, invalid("parent", locationFormat)
	}
	n, err := pageSize(r.GetPageSize(), maxQueues)
	if err != nil {
		return nil, err
	}
	scope := "queues " + r.GetParent() + " " + r.GetFilter()
	keep, err := readFilter(r.GetFilter())
	if err != nil {
		return nil, err
	}
	after, err := readToken(r.GetPageToken(), scope)
	if err != nil {
		return nil, err
	}
	records, err := c.api.Service.Limits(c.ctx, c.Owner, max(after, queuePrefix), limit.MaxPerAccount)
	if err != nil {
		return nil, err
	}
	response := &cloudtaskspb.ListQueuesResponse{}
	for i := range records {
		q := readQueue(&records[i])
		if q == nil || parentOf(q.Name) != r.GetParent() || !keep(q.Queue) {
			continue
		}
		if len(response.Queues) == n {
			response.NextPageToken = tokenOf(limitKey(response.Queues[n-1].Name), scope)
			break
		}
		response.Queues = append(response.Queues, q.Queue)
	}
	return response, nil
}

func (c *call) createQueue(r *cloudtaskspb.CreateQueueRequest) (*cloudtaskspb.Queue, error) {
	name := r.GetQueue().GetName()
	switch {
	case !isLocation(r.GetParent()):
		return nil, invalid("parent", locationFormat)
	case !isQueue(name):
		return nil, invalid("queue.name", queueFormat)
	case parentOf(name) != r.GetParent():
		return nil, invalid("queue.name", "The queue's name must begin with the parent "+r.GetParent())
	}
	return c.newQueue(r.GetQueue())
}

// newQueue stores a queue that must not exist.
func (c *call) newQueue(given *cloudtaskspb.Queue) (*cloudtaskspb.Queue, error) {
	q := &queue{Queue: proto.Clone(given).(*cloudtaskspb.Queue), id: newQueueID()}
	q.State, q.PurgeTime = cloudtaskspb.Queue_RUNNING, nil
	if err := complete(q.Queue); err != nil {
		return nil, err
	}
	record, err := q.record()
	if err != nil {
		return nil, err
	}
	err = c.api.Service.CreateLimit(c.ctx, c.Owner, record)
	if err != nil && fault.CodeOf(err) == fault.Stale {
		return nil, exists(alreadyQueue)
	}
	if err != nil {
		return nil, err
	}
	return q.Queue, nil
}

func (c *call) updateQueue(r *cloudtaskspb.UpdateQueueRequest) (*cloudtaskspb.Queue, error) {
	given := r.GetQueue()
	if !isQueue(given.GetName()) {
		return nil, invalid("queue.name", queueFormat)
	}
	q, err := c.findQueue(given.GetName())
	if isNotFound(err) {
		created, err := c.newQueue(given)
		if err == nil || fault.CodeOf(err) != fault.Conflict {
			return created, err
		}
		if q, err = c.findQueue(given.GetName()); err != nil { // another call was faster
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	changed := proto.Clone(q.Queue).(*cloudtaskspb.Queue)
	before := q.GetRateLimits()
	if err := masked(changed, given, r.GetUpdateMask(), "name", "state", "purge_time"); err != nil {
		return nil, err
	}
	if r := changed.GetRateLimits(); r.GetMaxBurstSize() == before.GetMaxBurstSize() &&
		before.GetMaxBurstSize() == burstFor(before.GetMaxDispatchesPerSecond()) {
		r.MaxBurstSize = 0 // it follows the rate
	}
	return c.putQueue(q, changed)
}

// putQueue stores other settings of a queue.
func (c *call) putQueue(q *queue, settings *cloudtaskspb.Queue) (*cloudtaskspb.Queue, error) {
	if err := complete(settings); err != nil {
		return nil, err
	}
	changed := &queue{Queue: settings, id: q.id}
	record, err := changed.record()
	if err != nil {
		return nil, err
	}
	if err := c.api.Service.PutLimit(c.ctx, c.Owner, record); err != nil {
		return nil, err
	}
	return settings, nil
}

func (c *call) setPaused(name string, paused bool) (*cloudtaskspb.Queue, error) {
	q, err := c.findQueue(name)
	if err != nil {
		return nil, err
	}
	if err := c.api.Service.ChangeLimit(c.ctx, c.Owner, limitKey(name), service.LimitChange{Paused: &paused}); err != nil {
		return nil, err
	}
	q.State = cloudtaskspb.Queue_RUNNING
	if paused {
		q.State = cloudtaskspb.Queue_PAUSED
	}
	return q.Queue, nil
}

func (c *call) pauseQueue(r *cloudtaskspb.PauseQueueRequest) (*cloudtaskspb.Queue, error) {
	return c.setPaused(r.GetName(), true)
}

func (c *call) resumeQueue(r *cloudtaskspb.ResumeQueueRequest) (*cloudtaskspb.Queue, error) {
	return c.setPaused(r.GetName(), false)
}

func (c *call) purgeQueue(r *cloudtaskspb.PurgeQueueRequest) (*cloudtaskspb.Queue, error) {
	q, err := c.findQueue(r.GetName())
	if err != nil {
		return nil, err
	}
	purged := proto.Clone(q.Queue).(*cloudtaskspb.Queue)
	at := c.api.Service.Now()
	purged.PurgeTime = stamp(at)
	if purged, err = c.putQueue(q, purged); err != nil {
		return nil, err
	}
	return purged, c.cancelTasks(limitKey(q.Name), at)
}

// tasksRead is how many tasks are read at once to be cancelled.
const tasksRead = 100

// cancelTasks cancels the tasks of a queue that were created before a time.
func (c *call) cancelTasks(key string, before time.Time) error {
	place := limit.Position{}
	for {
		jobs, next, err := c.api.Service.JobsNaming(c.ctx, c.Owner, key, place, tasksRead)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if j.InsertedAt.After(before) {
				continue
			}
			if _, err := c.api.Service.CancelPending(c.ctx, c.Owner, job.Ref{Number: j.Number}); err != nil && !isNotFound(err) {
				return err
			}
		}
		if next == nil {
			return nil
		}
		place = *next
	}
}

// deleteTries is how often the tasks of a queue that is deleted are cancelled: others
// may create some meanwhile.
const deleteTries = 3

func (c *call) deleteQueue(r *cloudtaskspb.DeleteQueueRequest) (*emptypb.Empty, error) {
	q, err := c.findQueue(r.GetName())
	if err != nil {
		return nil, err
	}
	key := limitKey(q.Name)
	for range deleteTries {
		err = c.api.Service.DeleteLimit(c.ctx, c.Owner, key)
		if err == nil || fault.CodeOf(err) != fault.Conflict {
			break
		}
		if err := c.cancelTasks(key, c.api.Service.Now()); err != nil {
			return nil, err
		}
	}
	if isNotFound(err) {
		return nil, notFound(noQueue)
	}
	return &emptypb.Empty{}, err
}
