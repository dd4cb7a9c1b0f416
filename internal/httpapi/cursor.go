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

// linkNext links to the page that next selects (RFC 8288), if there is one.
func (c *call) linkNext(list string, next *job.ListQuery) {
	if next == nil {
		return
	}
	values := c.r.URL.Query()
	values.Set("limit", strconv.Itoa(next.Limit))
	if next.Order.Field == "" {
		values.Del("offset")
		values.Set("cursor", sealCursor(position{number: next.After, id: next.AfterID}, list, c.owner))
	} else {
		values.Set("offset", strconv.Itoa(next.Offset))
	}
	c.link(values)
}

// writePage responds with a page of a list and links to the next one.
func writePage[T any](c *call, list string, page job.Page[*T], add func([]byte, *T) []byte) error {
	c.linkNext(list, page.Next)
	return writeList(c, page.Items, add)
}

func (c *call) link(values url.Values) {
	c.Header().Set("Link", "<"+c.r.URL.EscapedPath()+"?"+values.Encode()+`>; rel="next"`)
}

// linkOffset links to the next page of a list without cursors.
func (c *call) linkOffset(limit, offset int) {
	c.link(url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset + limit)}})
}

var _ http.ResponseWriter = (*call)(nil)
