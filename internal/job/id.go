package job

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// NewID returns a UUIDv7 for the time t, with the fraction of the millisecond in
// rand_a (RFC 9562, section 6.2, method 3). Such IDs sort by time, to the
// microsecond.
func NewID(t time.Time) uuid.UUID {
	id := IDBound(t)
	_, _ = rand.Read(id[8:])
	id[8] = id[8]&0x3f | 0x80
	return id
}

// IDBound returns an ID that sorts before every ID made for t or later.
func IDBound(t time.Time) uuid.UUID {
	micros := max(0, t.UnixMicro()) // an ID has no room for times before 1970
	// rand_a has 4096 steps a millisecond: a microsecond is a little more than
	// four, so each has a step of its own.
	millis, fraction := uint64(micros/1000), uint64((micros%1000*4096+999)/1000)
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], millis<<16|fraction)
	id[6] |= 0x70
	return id
}

// ParseID parses a UUID; it accepts only the canonical form.
func ParseID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}
