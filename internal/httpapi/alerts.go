package httpapi

import (
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

func (s *Server) listAlerts(c *call) error {
	q := c.query()
	limit, offset := q.whole("limit", 1, maxLimit, maxLimit), q.whole("offset", 0, maxOffset, 0)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	alerts, more, err := s.Alerts.List(c.r.Context(), c.owner, limit, offset)
	if err != nil {
		return err
	}
	if more {
		c.linkOffset(limit, offset)
	}
	return writeList(c, alerts, appendAlert)
}

func (s *Server) getAlert(c *call) error {
	a, err := s.Alerts.Get(c.r.Context(), c.owner, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return appendAlert(b, a) })
}

func (s *Server) putAlert(c *call) error {
	match, err := c.untagged("alert")
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	a, created, err := s.Alerts.Put(c.r.Context(), c.owner, c.r.PathValue("name"), body, match)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Header().Set("Location", "/api/alerts/"+a.Name)
	}
	return c.writeRecord(status, func(b []byte) []byte { return appendAlert(b, a) })
}

func (s *Server) deleteAlert(c *call) error {
	err := c.untaggedDelete("alert", func() error {
		_, err := s.Alerts.Get(c.r.Context(), c.owner, c.r.PathValue("name"))
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Alerts.Delete(c.r.Context(), c.owner, c.r.PathValue("name")); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) testAlert(c *call) error {
	results, err := s.Alerts.Test(c.r.Context(), c.owner, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = rawjson.AppendText(append(b, `{"alert":`...), c.r.PathValue("name"))
		b = append(b, `,"results":[`...)
		for i := range results {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAlertTest(b, &results[i])
		}
		return append(b, `]}`...)
	})
}

func appendAlert(b []byte, a *service.Alert) []byte {
	b = rawjson.AppendText(append(b, `{"name":`...), a.Name)
	b = append(append(b, ','), a.Definition[1:len(a.Definition)-1]...)
	b = appendInstant(append(b, `,"inserted_at":`...), a.InsertedAt)
	return append(appendInstant(append(b, `,"updated_at":`...), a.UpdatedAt), '}')
}

// appendAlertTest appends what a receiver said.
func appendAlertTest(b []byte, t *service.AlertTest) []byte {
	channel := notify.ChannelOf(t.Receiver.Channel)
	b = rawjson.AppendText(append(b, `{"to":{"`+channel.Name+`":`...), channel.TextOf(t.Receiver.Target))
	b = append(b, `},"status":`...)
	if r := t.Outcome.Response; r != nil {
		b = strconv.AppendInt(b, int64(r.Status), 10)
		b = rawjson.AppendText(append(b, `,"response":`...), notify.Cut(string(r.Body), notify.MaxExcerpt))
	} else {
		b = append(b, `null,"response":null`...)
	}
	b = append(b, `,"error":`...)
	if f := t.Outcome.Failure; f != nil {
		b = append(job.AppendFailure(append(b, '{'), f), '}')
	} else {
		b = append(b, `null`...)
	}
	b = append(b, `,"duration_ms":`...)
	return append(job.AppendMillis(b, t.Outcome.Duration), '}')
}
