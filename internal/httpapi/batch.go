package httpapi

import (
	"errors"
	"net/http"
	"runtime"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// ndjson is the media type of a batch with an item in each line.
const ndjson = "application/x-ndjson"

func (s *Server) createJobs(c *call) error {
	atomic, err := c.atomic()
	if err != nil {
		return err
	}
	b, then, err := s.readBatch(c, atomic)
	if err != nil {
		return err
	}
	if _, given := preference(c.r.Header.Values("Prefer"), "keep-order"); given {
		b.KeepOrder() // for the relay of an outbox
	}
	results, err := s.Service.CreateBatch(c.r.Context(), b)
	if err != nil {
		return err
	}
	add := c.preferredJob()
	after, thenHeld := []byte(nil), false
	if then {
		last := &results[len(results)-1]
		if last.Err != nil {
			return last.Err
		}
		thenHeld = last.Conflict
		results, after = results[:len(results)-1], add([]byte(`,"then":`), last.Job, last.Conflict)
	}
	if !atomic {
		return writeItemsAnd(c, http.StatusOK, results, after,
			func(b []byte, r *service.BatchResult) []byte { return appendOutcome(b, r, add) })
	}
	status := http.StatusOK
	if then && !thenHeld {
		status = http.StatusCreated
	}
	for i := range results {
		if !results[i].Conflict {
			status = http.StatusCreated
		}
	}
	return writeItemsAnd(c, status, results, after, func(b []byte, r *service.BatchResult) []byte { return add(b, r.Job, r.Conflict) })
}

// atomic reads the parameter of this name.
func (c *call) atomic() (bool, error) {
	q := c.query()
	text, given := q.One("atomic")
	if given && text != "true" && text != "false" {
		q.Refuse("atomic", "must be true or false")
	}
	if c.r.Header.Get("Idempotency-Key") != "" {
		q.Problems = append(q.Problems, fault.Problem{Pointer: "#",
			Detail: "can't have its keys in the header Idempotency-Key; give each item its idempotency_key"})
	}
	return !given || text == "true", fault.Refuse(q.Problems)
}

// readBatch reads and checks a batch. It counts the items against the rate of the
// account before it parses them.
func (s *Server) readBatch(c *call, atomic bool) (b *service.Batch, hasThen bool, err error) {
	split := splitArray
	switch mediaType := c.mediaType(); {
	case mediaType == ndjson:
		split = splitLines
	case mediaType != "" && !job.IsJSON(mediaType):
		return nil, false, fault.New(fault.UnsupportedMedia, "send the batch as application/json, an array, or as "+ndjson+
			", with that Content-Type")
	}
	text, err := c.readAll(maxBatchBody)
	if err != nil {
		return nil, false, err
	}
	leave, err := c.enterParsing(len(text))
	if err != nil {
		return nil, false, err
	}
	defer leave()
	var parts []part
	var then *service.BatchItem
	if c.mediaType() != ndjson && isObject(text) {
		parts, then, err = splitThen(text, service.MaxBatch)
	} else {
		parts, err = split(text, service.MaxBatch)
	}
	if err != nil {
		return nil, false, err
	}
	calls := len(parts)
	if then != nil {
		calls++
	}
	if err := s.charge(c, 1, calls); err != nil {
		return nil, false, err
	}
	items := make([]service.BatchItem, len(parts))
	for i, part := range parts {
		if i%16 == 15 {
			runtime.Gosched() // for attempts that are due
		}
		value, err := rawjson.Read(part.text)
		if err = unreadable(part.name+" is not readable JSON", err); err != nil && fault.CodeOf(err) != fault.Invalid {
			return nil, false, err
		}
		if err == nil && len(part.text) > maxItem(value) {
			value, err = nil, job.TooLarge()
		}
		items[i] = service.BatchItem{Body: value, Err: err}
	}
	b, err = s.Service.ReadBatchThen(c.r.Context(), c.owner, items, then, atomic, prefersMinimal(c.r.Header.Values("Prefer")))
	return b, then != nil, err
}

// maxItem returns how many bytes an item may have: as a request of its own, beside its
// request_id, which the relay of an outbox adds.
func maxItem(item rawjson.Value) int {
	most := job.MaxRequest
	if id := rawjson.Get(item, "request_id"); id != nil {
		most += len(`"request_id":,`) + len(id)
	}
	return most
}

// appendOutcome appends the status of an item, and its job or what is wrong with it.
func appendOutcome(b []byte, r *service.BatchResult, add func([]byte, *job.Job, bool) []byte) []byte {
	b = append(b, `{"status":`...)
	switch {
	case r.Err != nil:
		f := &fault.Error{Code: fault.Internal, Message: internalMessage}
		errors.As(r.Err, &f)
		b = strconv.AppendInt(b, int64(responses[f.Code].status), 10)
		b = appendProblem(append(b, `,"problem":`...), f)
	case r.Conflict:
		b = add(append(b, `200,"job":`...), r.Job, true)
	default:
		b = add(append(b, `201,"job":`...), r.Job, false)
	}
	return append(b, '}')
}
