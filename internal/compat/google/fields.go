package google

import (
	"encoding/base64"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// fields are the fields of a create request.
type fields struct{ rawjson.Fields }

// body adds the body, which is sent as it is.
func (f *fields) body(body []byte) {
	if len(body) > 0 {
		f.Bytes("body_base64", body)
	}
}

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
