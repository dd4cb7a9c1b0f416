package google

import (
	"encoding/base64"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// fields are the fields of a create request.
type fields []rawjson.Member

func (f *fields) add(name string, value rawjson.Value) {
	*f = append(*f, rawjson.Member{Name: name, Value: value})
}

func (f *fields) text(name, value string) { f.add(name, rawjson.Quote(value)) }

func (f *fields) seconds(name string, d time.Duration) {
	f.add(name, strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64))
}

// body adds a body that is sent as it is.
func (f *fields) body(body []byte) {
	if len(body) == 0 {
		return
	}
	b := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(body))+2), '"')
	b = base64.StdEncoding.AppendEncode(b, body)
	f.add("body_base64", append(b, '"'))
}

// object returns the fields as JSON.
func (f *fields) object() rawjson.Value { return rawjson.Object(*f) }

// stamp returns a time as a message; nil for the zero time.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// between refuses a duration that is not within bounds.
func between(field string, d *durationpb.Duration, least, most time.Duration) error {
	if d == nil {
		return nil
	}
	if given := d.AsDuration(); d.CheckValid() != nil || given < least || given > most {
		return invalid(field, field+" must be from "+least.String()+" to "+most.String())
	}
	return nil
}

// bodyOf returns the bytes of a job's body.
func bodyOf(spec *job.Spec) []byte {
	body, err := base64.StdEncoding.DecodeString(rawjson.Text(spec.BodyBase64))
	if err != nil {
		return nil // it is redacted
	}
	return body
}
