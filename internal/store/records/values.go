package records

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Instant is a time that is never null: the zero time is stored as a value.
type Instant time.Time

// Plain returns an argument as nil, bool, int64, float64, string, []byte, uuid.UUID,
// []string or []int64. Times and durations become microseconds. Null stands for nil
// pointers and slices, and for the zero time unless it is an Instant. Plain takes
// what Row.Scan reads, pointers to it, and a Form.
func Plain(arg any) any {
	switch v := arg.(type) {
	case nil, bool, int64, float64, string, uuid.UUID, []string, []int64:
		return v
	case int:
		return int64(v)
	case []byte:
		return unless(v == nil, v)
	case rawjson.Value:
		return unless(v == nil, string(v))
	case time.Time:
		return unless(v.IsZero(), v.UnixMicro())
	case Instant:
		return time.Time(v).UnixMicro()
	case time.Duration:
		return v.Microseconds()
	case Form:
		return Plain(v.Stored())
	}
	return plainOf(arg)
}

// plainOf is Plain for pointers.
func plainOf(arg any) any {
	switch v := arg.(type) {
	case *bool:
		return *v
	case *int:
		return int64(*v)
	case *int64:
		if v == nil {
			return nil
		}
		return *v
	case *float64:
		if v == nil {
			return nil
		}
		return *v
	case *string:
		if v == nil {
			return nil
		}
		return *v
	case **string:
		return Plain(*v)
	case **int64:
		return Plain(*v)
	case **float64:
		return Plain(*v)
	case *[]byte:
		return Plain(*v)
	case *rawjson.Value:
		return Plain(*v)
	case *uuid.UUID:
		return *v
	case *time.Time:
		return Plain(*v)
	case *time.Duration:
		return Plain(*v)
	}
	panic(fmt.Sprintf("records: no way to store a %T", arg))
}

func unless(null bool, v any) any {
	if null {
		return nil
	}
	return v
}

// Form is a value that is stored in another form.
type Form interface {
	// Stored returns what is stored, as Plain takes it.
	Stored() any
	// Target returns where to scan the stored value, one of the types of Row.Scan.
	Target() any
	// Load sets the value from the Target.
	Load()
}

// scan is row.Scan that also reads Forms.
func scan(row Row, to ...any) error {
	targets := make([]any, len(to))
	for i, target := range to {
		targets[i] = target
		if form, ok := target.(Form); ok {
			targets[i] = form.Target()
		}
	}
	if err := row.Scan(targets...); err != nil {
		return err
	}
	for _, target := range to {
		if form, ok := target.(Form); ok {
			form.Load()
		}
	}
	return nil
}

// into returns a function that scans a row.
func into(to ...any) func(Row) error {
	return func(row Row) error { return scan(row, to...) }
}

// orNull stores "" as null.
type orNull struct{ to *string }

func (f orNull) Target() any { return f.to }
func (f orNull) Load()       {}
func (f orNull) Stored() any { return unless(*f.to == "", *f.to) }

// orNone stores uuid.Nil as null.
type orNone struct{ to *uuid.UUID }

func (f orNone) Target() any { return f.to }
func (f orNone) Load()       {}
func (f orNone) Stored() any { return unless(*f.to == uuid.Nil, *f.to) }

// list stores texts that contain no comma, separated by commas; none as null if
// nullable, else as "".
type list struct {
	to       *[]string
	nullable bool
	text     string
}

func (f *list) Target() any { return &f.text }
func (f *list) Stored() any {
	return unless(f.nullable && len(*f.to) == 0, strings.Join(*f.to, ","))
}

func (f *list) Load() {
	*f.to = nil
	if f.text != "" {
		*f.to = strings.Split(f.text, ",")
	}
}

// number stores a type of integers.
type number[N ~int | ~int16 | ~uint32] struct {
	to *N
	n  int64
}

func numberOf[N ~int | ~int16 | ~uint32](to *N) *number[N] { return &number[N]{to: to} }

func (f *number[N]) Target() any { return &f.n }
func (f *number[N]) Stored() any { return int64(*f.to) }
func (f *number[N]) Load()       { *f.to = N(f.n) }

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }
