package httpapi

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// listAudit lists the account's audit log, newest entries first.
func (s *Server) listAudit(c *call) error {
	const list = "audit"
	q := c.query()
	event := q.event()
	selection := q.list(list, c.owner, nil)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	page, err := s.Audit.List(c.r.Context(), c.owner.Number, event, selection)
	if err != nil {
		return err
	}
	return writePage(c, list, page, appendAudit)
}

func appendAudit(b []byte, a *identity.AuditEntry) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, a.ID.String()...)
	b = appendInstant(append(b, `","inserted_at":`...), a.InsertedAt)
	b = rawjson.AppendText(append(b, `,"event":`...), a.Event)
	b = rawjson.AppendText(append(b, `,"actor":{"kind":`...), a.ActorKind)
	b = appendTextOrNull(append(b, `,"name":`...), a.ActorName)
	b = appendTextOrNull(append(b, `},"address":`...), a.Address)
	b = appendTextOrNull(append(b, `,"detail":`...), a.Detail)
	b = strconv.AppendInt(append(b, `,"count":`...), a.Count, 10)
	return append(appendInstant(append(b, `,"last_at":`...), a.LastAt), '}')
}

// appendTextOrNull appends a string, or null for "".
func appendTextOrNull(b []byte, text string) []byte {
	if text == "" {
		return append(b, `null`...)
	}
	return rawjson.AppendText(b, text)
}

// event reads the event of a list of audit entries; "" if there is none.
func (q *query) event() string {
	text, given := q.One("event")
	if !given {
		return ""
	}
	event, why := job.ReadEvent(text)
	if why != "" {
		q.Refuse("event", why)
	}
	return event
}
