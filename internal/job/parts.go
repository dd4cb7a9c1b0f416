package job

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Part is a piece of a log's payload that belongs in a delivery's body. The
// delivery refers to it, so that a large request or response is stored once.
type Part struct {
	// At is the byte offset in the delivery's stored text where the piece is
	// inserted. The parts of a delivery are sorted by At.
	At int
	// Log is the log with the piece: bytes From (inclusive) to To (exclusive) of
	// its payload.
	Log      uuid.UUID
	From, To int
}

// Size returns the size of the delivery's complete body in bytes, including the
// parts that are stored with logs.
func (d *Delivery) Size() int {
	size := len(d.Body)
	for _, p := range d.Parts {
		size += p.To - p.From
	}
	return size
}

// Whole returns the complete body, with the parts inserted from the logs'
// payloads. It fails if a log is missing or shorter than a part requires.
func (d *Delivery) Whole(payloads map[uuid.UUID]rawjson.Value) (rawjson.Value, error) {
	if len(d.Parts) == 0 {
		return d.Body, nil
	}
	whole, copied := bytes.NewBuffer(make([]byte, 0, d.Size())), 0
	for _, p := range d.Parts {
		payload := payloads[p.Log]
		if p.At < copied || p.At > len(d.Body) || p.From < 0 || p.From > p.To || p.To > len(payload) {
			return nil, fmt.Errorf("delivery %s refers to bytes %d to %d of log %s, which has %d", d.MessageID, p.From, p.To, p.Log,
				len(payload))
		}
		whole.Write(d.Body[copied:p.At])
		whole.Write(payload[p.From:p.To])
		copied = p.At
	}
	whole.Write(d.Body[copied:])
	return whole.Bytes(), nil
}

// FormatParts formats parts as stores keep them: "AT FROM TO LOG" for each part,
// joined by commas, with the log's id as 32 lower-case hexadecimal digits.
func FormatParts(parts []Part) string {
	var b []byte
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		for _, n := range [...]int{p.At, p.From, p.To} {
			b = strconv.AppendInt(b, int64(n), 10)
			b = append(b, ' ')
		}
		b = hex.AppendEncode(b, p.Log[:])
	}
	return string(b)
}

// KeptParts parses what FormatParts wrote. For a damaged text it returns a part
// that refers to no log, so that only this delivery fails.
func KeptParts(text string) []Part {
	parts, err := ParseParts(text)
	if err != nil {
		return []Part{{At: -1}}
	}
	return parts
}

// ParseParts parses what FormatParts wrote.
func ParseParts(text string) ([]Part, error) {
	if text == "" {
		return nil, nil
	}
	var parts []Part
	for one := range strings.SplitSeq(text, ",") {
		var p Part
		fields := strings.Split(one, " ")
		if len(fields) != 4 {
			return nil, fmt.Errorf("a part of a delivery has %d fields, not 4", len(fields))
		}
		var errs [3]error
		p.At, errs[0] = strconv.Atoi(fields[0])
		p.From, errs[1] = strconv.Atoi(fields[1])
		p.To, errs[2] = strconv.Atoi(fields[2])
		id, err := hex.DecodeString(fields[3])
		if err = errors.Join(append(errs[:], err)...); err != nil {
			return nil, fmt.Errorf("reading a part of a delivery: %w", err)
		}
		if p.Log, err = uuid.FromBytes(id); err != nil {
			return nil, fmt.Errorf("reading a part of a delivery: %w", err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}
