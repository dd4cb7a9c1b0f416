package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	defaultLimit = 10
	maxLimit     = 100
	// maxOffset keeps offsets within the integers that every store counts exactly.
	maxOffset = 1 << 53
)

// query reads a list's parameters and collects their problems.
type query struct {
	values   url.Values
	problems []fault.Problem
}

func (q *query) refuse(parameter, detail string) {
	q.problems = append(q.problems, fault.Problem{Parameter: parameter, Detail: detail})
}

// one returns a parameter's value, and whether it was given exactly once.
func (q *query) one(name string) (string, bool) {
	values, ok := q.values[name]
	if len(values) > 1 {
		q.refuse(name, "must be given once")
		return "", false
	}
	if !ok {
		return "", false
	}
	return values[0], true
}

func (q *query) whole(name string, least, most, fallback int) int {
	text, ok := q.one(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(text)
	digits := text != "" && strings.Trim(text, "0123456789") == ""
	if err != nil || !digits || n < least || n > most {
		if most == maxOffset {
			q.refuse(name, "must be a whole number, 0 or more")
		} else {
			q.refuse(name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		}
		return fallback
	}
	return n
}

// list reads limit, offset, order_by and cursor.
func (q *query) list(name string, owner job.Owner, orders []string) job.ListQuery {
	l := job.ListQuery{Limit: q.whole("limit", 1, maxLimit, defaultLimit), Offset: q.whole("offset", 0, maxOffset, 0)}
	order, why := readOrder(q.values, orders)
	if why != "" {
		q.refuse("order_by", why)
	}
	l.Order = order
	text, ok := q.one("cursor")
	if !ok {
		return l
	}
	position, valid := openCursor(text, name, owner)
	switch {
	case !valid:
		q.refuse("cursor", "is not a cursor of this list; start again without it")
	case q.values.Has("offset"):
		q.refuse("cursor", "excludes offset; leave offset out")
	case order.Field != "":
		q.refuse("cursor", "works only with the default order; leave order_by out")
	default:
		l.After, l.AfterID = position.number, position.id
	}
	return l
}

// readOrder reads order_by in any of its forms; why describes the problem, if any.
func readOrder(values url.Values, allowed []string) (order job.Order, why string) {
	parts, why := orderParts(values)
	if why != "" || parts == nil {
		return order, why
	}
	if len(parts) > 2 || len(parts) == 0 {
		return order, "must be one field and asc or desc, as in order_by=" + allowed[0] + ",asc"
	}
	if !slices.Contains(allowed, parts[0]) {
		return order, "must name one of the fields " + strings.Join(allowed, ", ")
	}
	order.Field = parts[0]
	if len(parts) == 2 {
		if parts[1] != "asc" && parts[1] != "desc" {
			return job.Order{}, "must have the direction asc or desc"
		}
		order.Desc = parts[1] == "desc"
	}
	return order, ""
}

func orderParts(values url.Values) (parts []string, why string) {
	plain, list := values["order_by"], values["order_by[]"]
	first, second := values["order_by[0]"], values["order_by[1]"]
	forms := 0
	for _, form := range [][]string{plain, list, append(first[:len(first):len(first)], second...)} {
		if len(form) > 0 {
			forms++
			parts = form
		}
	}
	switch {
	case forms > 1 || len(first) > 1 || len(second) > 1 || len(first) == 0 && len(second) > 0:
		return nil, "must be given once, in one form"
	case len(plain) != 1:
		return parts, ""
	case strings.HasPrefix(plain[0], "["):
		return orderArray(plain[0])
	default:
		return strings.Split(plain[0], ","), ""
	}
}

func orderArray(text string) (parts []string, why string) {
	v, err := rawjson.Read([]byte(text))
	if err != nil || v.Kind() != '[' {
		return nil, `must be a list such as ["inserted_at","asc"]`
	}
	parts = []string{}
	for _, e := range rawjson.Elements(v) {
		parts = append(parts, rawjson.Text(e))
	}
	return parts, ""
}

func (q *query) states() []job.State {
	text, ok := q.one("state")
	if !ok {
		return nil
	}
	states := job.StatesNamed(text)
	if states == nil {
		q.refuse("state", "must be one of scheduled, available, executing, retryable, completed, cancelled, discarded")
	}
	return states
}

func (q *query) uuid(name string) uuid.UUID {
	text, ok := q.one(name)
	if !ok {
		return uuid.Nil
	}
	id, valid := job.ParseID(text)
	if !valid || id == uuid.Nil {
		q.refuse(name, "must be a UUID")
	}
	return id
}

func (q *query) key() *string {
	text, ok := q.one("idempotency_key")
	if !ok || !q.isText("idempotency_key", text) {
		return nil
	}
	return &text
}

func (q *query) isText(name, text string) bool {
	if n := utf8.RuneCountInString(text); n < 1 || n > 255 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		q.refuse(name, "must have 1 to 255 characters")
		return false
	}
	return true
}

// search reads q, which works only with the default order and a few of the
// filters. It returns "" if q is absent or blank, as from an empty form field.
func (q *query) search() string {
	text, _ := q.one("q")
	if text = strings.TrimSpace(text); text == "" || !q.isText("q", text) {
		return ""
	}
	q.alone("q", "offset", "order_by", "schedule_id", "idempotency_key")
	return text
}

// alone refuses a parameter that is given together with any of others.
func (q *query) alone(name string, others ...string) {
	for _, other := range others {
		if q.values.Has(other) || q.values.Has(other+"[]") || q.values.Has(other+"[0]") {
			q.refuse(name, "excludes "+other+"; leave one of them out")
			return
		}
	}
}

func (q *query) time(name string) time.Time {
	text, ok := q.one(name)
	if !ok {
		return time.Time{}
	}
	t, err := job.ReadInstant(text)
	if err != nil {
		q.refuse(name, err.Error())
	}
	return t
}

func (q *query) job() *job.Ref {
	text, ok := q.one("job_id")
	if !ok {
		return nil
	}
	id, valid := job.ParseRef(text)
	if !valid {
		q.refuse("job_id", "must be a job's integer id or UUID")
		return nil
	}
	return &id
}

func (q *query) event() string {
	text, ok := q.one("event")
	if ok && (text == "" || len(text) > 100 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "") {
		q.refuse("event", "must be an event's name, as in "+job.EventRequest)
	}
	return text
}
