package httpapi

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// listAudit lists the account's audit log, newest entries first.
func (s *Server) listAudit(c *call) error {
	const list = "audit"
	q := &query{values: c.r.URL.Query()}
	event := q.event()
	for form, name := range map[string]string{"offset": "offset", "order_by": "order_by", "order_by[]": "order_by", "order_by[0]": "order_by"} {
		if q.values.Has(form) {
			q.refuse(name, "is not supported by the audit log, which lists the newest entries first; follow the Link header")
			q.values.Del(form)
		}
	}
	selection := q.list(list, c.owner, nil)
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	entries, err := s.Store.AuditList(c.r.Context(), c.owner.Number, event, selection.AfterID, selection.Limit)
	if err != nil {
		return err
	}
	entries = page(c, list, selection, entries, store.AuditSize, func(a *store.Audit) position { return position{id: a.ID} })
	return writeList(c, entries, appendAudit)
}

func appendAudit(b []byte, a *store.Audit) []byte {
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
