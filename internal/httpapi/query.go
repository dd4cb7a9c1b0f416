package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	defaultLimit = 10
	maxLimit     = 100
	// maxOffset keeps offsets within the integers that every store counts exactly.
	maxOffset = 1 << 53
)

// query reads the parameters of a call.
type query struct{ job.Parameters }

// query returns a reader that begins with the problems of the query that are known
// already, so that a refusal lists all of them.
func (c *call) query() *query {
	return &query{job.Parameters{Values: c.r.URL.Query(), Problems: slices.Clone(c.problems)}}
}

// includes reports whether the parameter include asks for a key, the only one that the
// call can add.
func (q *query) includes(key string) bool {
	text, given := q.One("include")
	if given && text != key {
		q.Refuse("include", "must be "+key)
	}
	return given
}

func (q *query) whole(name string, least, most, fallback int) int {
	text, ok := q.One(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(text)
	digits := text != "" && strings.Trim(text, "0123456789") == ""
	if err != nil || !digits || n < least || n > most {
		if most == maxOffset {
			q.Refuse(name, "must be a whole number, 0 or more")
		} else {
			q.Refuse(name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		}
		return fallback
	}
	return n
}

// list reads limit, offset, order_by and cursor.
func (q *query) list(name string, owner job.Owner, orders []string) job.ListQuery {
	l := job.ListQuery{Limit: q.whole("limit", 1, maxLimit, defaultLimit), Offset: q.whole("offset", 0, maxOffset, 0)}
	order, why := job.Order{}, ""
	if len(orders) > 0 { // else order_by is refused with the other unknown parameters
		order, why = readOrder(q.Values, orders)
	}
	if why != "" {
		q.Refuse("order_by", why)
	}
	l.Order = order
	text, ok := q.One("cursor")
	if !ok {
		return l
	}
	position, valid := openCursor(text, name, owner)
	switch {
	case !valid:
		q.Refuse("cursor", "is not a cursor of this list; start again without it")
	case q.Values.Has("offset"):
		q.Refuse("cursor", "excludes offset; leave offset out")
	case order.Field != "":
		q.Refuse("cursor", "works only with the default order; leave order_by out")
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

// search reads q, which works only with the default order and a few of the
// filters. It returns "" if q is absent or blank, as from an empty form field.
func (q *query) search() string {
	if strings.TrimSpace(q.Values.Get("q")) == "" && len(q.Values["q"]) < 2 {
		return ""
	}
	text := q.Text("q")
	if text == nil {
		return ""
	}
	q.excludes("q", "offset", "order_by", "schedule_id", "idempotency_key")
	return strings.TrimSpace(*text)
}

// excludes refuses a parameter that is given together with any of others.
func (q *query) excludes(name string, others ...string) {
	for _, other := range others {
		if q.Values.Has(other) || q.Values.Has(other+"[]") || q.Values.Has(other+"[0]") {
			q.Refuse(name, "excludes "+other+"; leave one of them out")
			return
		}
	}
}
