package httpapi

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func (s *Server) listLimits(c *call) error {
	q := c.query()
	most, offset := q.whole("limit", 1, 100, 100), q.whole("offset", 0, math.MaxInt32, 0)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	// An account has a bounded number of limits.
	found, err := s.Service.Limits(c.r.Context(), c.owner, "", limit.MaxPerAccount)
	if err != nil {
		return err
	}
	found = found[min(offset, len(found)):]
	if len(found) > most {
		found = found[:most]
		c.linkOffset(most, offset)
	}
	list := make([]*limit.Record, len(found))
	for i := range found {
		list[i] = &found[i]
	}
	return writeList(c, list, func(b []byte, l *limit.Record) []byte { return append(appendReceiverLimit(b, l), '}') })
}

func (s *Server) getLimit(c *call) error {
	use, err := s.Service.Limit(c.r.Context(), c.owner, c.r.PathValue("key"))
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = appendReceiverLimit(b, &use.Record)
		b = strconv.AppendInt(append(b, `,"waiting":`...), int64(use.Waiting), 10)
		b = strconv.AppendInt(append(b, `,"in_flight":`...), int64(use.InFlight), 10)
		b = appendInstant(append(b, `,"next_at":`...), use.NextAt)
		if use.First == 0 {
			return append(b, `,"first":null}`...)
		}
		b = strconv.AppendInt(append(b, `,"first":{"job_id":`...), use.First, 10)
		b = appendEach(append(b, `,"waiting_for":`...), use.WaitingFor,
			func(b []byte, key string) []byte { return rawjson.AppendText(b, key) })
		return append(b, `}}`...)
	})
}

func (s *Server) putLimit(c *call) error {
	match, err := c.untagged("limit")
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	stored, created, err := s.Service.SetLimit(c.r.Context(), c.owner, c.r.PathValue("key"), body, match)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Header().Set("Location", "/api/limits/"+url.PathEscape(stored.Key))
	}
	return c.writeRecord(status, func(b []byte) []byte { return append(appendReceiverLimit(b, &stored), '}') })
}

func (s *Server) deleteLimit(c *call) error {
	err := c.untaggedDelete("limit", func() error {
		_, err := s.Service.Limit(c.r.Context(), c.owner, c.r.PathValue("key"))
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Service.DeleteLimit(c.r.Context(), c.owner, c.r.PathValue("key")); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

// appendReceiverLimit appends a limit without its closing brace.
func appendReceiverLimit(b []byte, l *limit.Record) []byte {
	b = rawjson.AppendText(append(b, `{"key":`...), l.Key)
	b = append(b, `,"rate":`...)
	if l.Calls > 0 {
		b = strconv.AppendInt(append(b, `{"calls":`...), int64(l.Calls), 10)
		b = append(b, `,"per":`...)
		b = append(strconv.AppendFloat(b, float64(l.Per)/float64(time.Second), 'f', -1, 64), '}')
	} else {
		b = append(b, `null`...)
	}
	b = appendLimit(append(b, `,"parallel":`...), int64(l.Parallel))
	b = strconv.AppendBool(append(b, `,"ordered":`...), l.Ordered)
	return strconv.AppendBool(append(b, `,"paused":`...), l.Paused)
}
