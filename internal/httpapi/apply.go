package httpapi

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// apply makes the schedules of an owner what a document says. Each schedule counts
// as a call for the account's rate.
func (s *Server) apply(c *call) error {
	body, err := c.readDocument()
	if err != nil {
		return err
	}
	if n := len(rawjson.Elements(rawjson.Get(body, "schedules"))); n > 1 {
		if err := s.charge(c, 1, n); err != nil {
			return err
		}
	}
	d, err := s.Service.ReadDocument(c.r.Context(), c.owner, body)
	if err != nil {
		return err
	}
	if c.prefersRehearsal() {
		comparison, err := s.Service.RehearseApply(c.r.Context(), c.owner, d)
		return c.writeComparison(comparison, err)
	}
	applied, err := s.Service.Apply(c.r.Context(), c.owner, d, func(tag string) error { return matchTag(c.r.Header, tag) })
	if service.IsNameGone(err) {
		if _, unknown := s.Service.ReadDocument(c.r.Context(), c.owner, body); unknown != nil {
			return unknown
		}
	}
	if err != nil {
		return err
	}
	c.Header().Set("ETag", applied.Tag)
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = append(b, '[')
		for i := range applied.Results {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendResult(b, &applied.Results[i])
		}
		return append(b, ']')
	})
}

func appendResult(b []byte, r *service.ApplyResult) []byte {
	b = rawjson.AppendText(append(b, `{"key":`...), r.Key)
	b = rawjson.AppendText(append(b, `,"result":`...), r.Result)
	b = job.AppendChanges(append(b, `,"diff":`...), r.Changes)
	return append(b, '}')
}

// matchTag returns a Stale fault if If-Match names other tags than that of the
// owner's schedules.
func matchTag(header http.Header, tag string) error {
	given, anything, list := matching(header)
	if !given || anything {
		return nil
	}
	for named := range tags(list) {
		if `"`+named+`"` == tag {
			return nil
		}
	}
	return fault.New(fault.Stale, "the owner's schedules have changed since the ETag in If-Match; nothing was changed, make a new plan")
}

// exportSchedules responds with the document of an owner, or with all schedules
// that have a key.
func (s *Server) exportSchedules(c *call) error {
	q := c.query()
	owner := q.Text("owner")
	if owner != nil {
		if why := job.WhyNotKey(*owner); why != "" {
			q.Refuse("owner", why)
		}
	}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	b := []byte(`{`)
	if owner != nil {
		b = append(rawjson.AppendText(append(b, `"owner":`...), *owner), ',')
	}
	b = append(b, `"schedules":[`...)
	first := true
	begin := func() {
		if !c.started {
			c.Header().Set("Content-Type", "application/json")
			c.WriteHeader(http.StatusOK)
		}
	}
	err := s.Service.ExportSchedules(c.r.Context(), c.owner, owner, func(page []*job.Schedule) error {
		begin()
		for _, one := range page {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = job.AppendDocumentItem(b, one, c.maskedArgs(one.Args), owner == nil)
		}
		_, err := c.Write(b)
		b = b[:0]
		return err
	})
	if err != nil {
		return err
	}
	begin()
	_, _ = c.Write(append(b, "]}\n"...)) // fails only if the client is gone
	return nil
}
