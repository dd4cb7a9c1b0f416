package service

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// identify adds the request_id of a draft. A refusal is not remembered: the caller may
// try again.
func (r *request) identify(draft *job.Draft, body rawjson.Value, now time.Time) {
	if draft.RequestID == "" {
		return
	}
	asked := *r // the copy has no Request, which refers to it
	r.Request = &store.NewRequest{
		ID: job.RequestKey(draft.RequestID), Digest: job.RequestDigest(body), Until: now.Add(lifecycle.RememberRequestFor),
		Answered: func(i *store.Inserted) bool { return i.Job != nil && asked.refused(i) == nil },
	}
}

// repeated returns the fault for a request whose request_id was answered before: it is
// another request, or the job of the answer was removed; nil if the answer is that job.
func repeated(i *store.Inserted, r *store.NewRequest) error {
	switch {
	case r != nil && !i.Same(r):
		return job.RefuseOtherRequestID(i.Job)
	case i.Job == nil:
		return removedSince()
	}
	return nil
}

func removedSince() error {
	return fault.New(fault.Gone, "the request_id was answered before with a job that was removed since; nothing was stored, and the request needs no repeat")
}

// answeredBefore returns what the request with the request_id of a body was answered
// with before, and refusal if there is no such answer. What was right then may not be
// now: a limit that the request names may be gone.
func (s *Service) answeredBefore(ctx context.Context, owner job.Owner, body rawjson.Value, refusal error) (*job.Job, bool, error) {
	bodies, results := []rawjson.Value{body}, []BatchResult{{Err: refusal}}
	if err := s.answered(ctx, owner, bodies, results, false); err != nil || results[0].Err != nil {
		return nil, false, cmp.Or(err, results[0].Err)
	}
	return results[0].Job, true, nil
}

// answered replaces the refusals among results by what the same requests were answered
// with before. If minimal, jobs lack their args.
func (s *Service) answered(ctx context.Context, owner job.Owner, bodies []rawjson.Value, results []BatchResult, minimal bool) error {
	var places []int
	var ids []uuid.UUID
	for i := range results {
		if fault.CodeOf(results[i].Err) != fault.Invalid || results[i].Err == nil {
			continue
		}
		if id := job.RequestIDOf(bodies[i]); id != "" {
			places, ids = append(places, i), append(ids, job.RequestKey(id))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := s.Store.JobRequested(ctx, owner, ids)
	if err != nil {
		return err
	}
	for k, i := range places {
		found := &known[k]
		if !found.Repeated || !found.Same(&store.NewRequest{Digest: job.RequestDigest(bodies[i])}) {
			continue
		}
		if results[i].Err = repeated(found, nil); results[i].Err != nil {
			continue
		}
		if results[i].Job, results[i].Conflict = found.Job, true; !minimal {
			if results[i].Job, err = s.holder(ctx, owner, found.Job.Number); err != nil {
				return err
			}
		}
	}
	return nil
}
