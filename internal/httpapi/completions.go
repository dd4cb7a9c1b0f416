package httpapi

import (
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
)

// reportRate is how many reports a second are accepted for one attempt.
const reportRate = quota.Rate(50)

// complete takes a target's report about an attempt. Nothing is read of the body
// of a call with an unknown token.
func (s *Server) complete(c *call) error {
	token := c.r.PathValue("token")
	account, err := s.Service.CompletionAccount(c.r.Context(), token)
	if err != nil {
		return err
	}
	hash, _ := job.HashToken(token)
	if count := s.reports.Take(hash, reportRate, 0, 1, time.Now()); !count.Allowed {
		s.Metrics.Refused("completion_rate")
		return &fault.Error{
			Code: fault.TooMany, Message: "too many reports per second about this attempt; try again after Retry-After seconds",
			RetryAfter: max(count.Wait, time.Millisecond),
		}
	}
	if err := edge.Authenticated(c.r, account, false); err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	completion, err := s.Service.Complete(c.r.Context(), token, body)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendCompletion(b, completion) })
}
