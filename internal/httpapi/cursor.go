package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// position is where in a list's default order a page ended: a number for jobs, a
// run's number and an ID for logs of a schedule, an ID otherwise.
type position struct {
	number int64
	id     uuid.UUID
}

const sealSize = 12

// sealCursor encodes a position as an opaque cursor. The seal ties it to the list
// and the account. It catches mistakes rather than attacks: a forged cursor only
// selects another part of the client's own records.
func sealCursor(p position, list string, owner job.Owner) string {
	var b []byte
	if p.number != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(p.number))
	}
	if p.id != uuid.Nil {
		b = append(b, p.id[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(append(seal(b, list, owner), b...))
}

func seal(b []byte, list string, owner job.Owner) []byte {
	mac := hmac.New(sha256.New, owner.ID[:])
	mac.Write([]byte("punctual cursor " + list + " "))
	mac.Write(b)
	return mac.Sum(nil)[:sealSize]
}

// openCursor decodes a cursor that sealCursor made for the same list and owner.
func openCursor(text, list string, owner job.Owner) (p position, valid bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < sealSize {
		return p, false
	}
	given, b := b[:sealSize], b[sealSize:]
	if !hmac.Equal(given, seal(b, list, owner)) {
		return p, false
	}
	if len(b) == 8 || len(b) == 8+len(p.id) {
		p.number = int64(binary.BigEndian.Uint64(b))
		b = b[8:]
		valid = p.number > 0
	}
	if len(b) == len(p.id) {
		copy(p.id[:], b)
		b, valid = nil, true
	}
	return p, valid && len(b) == 0
}

// page removes the extra record that shows whether there are more, and those that
// do not fit on a page, and then links to the next page (RFC 8288).
func page[T any](c *call, list string, q store.ListQuery, records []*T, size func(*T) int, at func(*T) position) []*T {
	limit := q.Limit - 1
	records, more := store.Fit(records, limit, q.Budget(), size)
	if !more {
		return records
	}
	if q.Order.Field == "" {
		linkNext(c, list, limit, at(records[len(records)-1]))
		return records
	}
	values := c.r.URL.Query()
	values.Set("limit", strconv.Itoa(limit))
	values.Set("offset", strconv.Itoa(q.Offset+len(records)))
	c.link(values)
	return records
}

// linkNext links to the page after a position.
func linkNext(c *call, list string, limit int, at position) {
	values := c.r.URL.Query()
	values.Set("limit", strconv.Itoa(limit))
	values.Del("offset")
	values.Set("cursor", sealCursor(at, list, c.owner))
	c.link(values)
}

func (c *call) link(values url.Values) {
	c.Header().Set("Link", "<"+c.r.URL.EscapedPath()+"?"+values.Encode()+`>; rel="next"`)
}

var _ http.ResponseWriter = (*call)(nil)
