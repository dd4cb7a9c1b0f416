package copydb

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"reflect"
	"time"
)

// checksum is a SHA-256 over all fields of records. Nil differs from empty. Times
// count in microseconds, independent of their zone.
type checksum struct {
	hash hash.Hash
	text []byte
}

func newChecksum() *checksum { return &checksum{hash: sha256.New()} }

// add adds a record: a struct of the types in store.Records, or a pointer to one.
func (c *checksum) add(value any) {
	c.text = appendValue(c.text[:0], reflect.ValueOf(value))
	_, _ = c.hash.Write(c.text) // never fails
}

func (c *checksum) sum() (sum [32]byte) { return [32]byte(c.hash.Sum(nil)) }

// The prefixes of a value that may be missing.
const (
	missing = 0
	present = 1
)

var timeType = reflect.TypeFor[time.Time]()

// appendValue appends an unambiguous encoding of a value.
func appendValue(b []byte, v reflect.Value) []byte {
	if v.Type() == timeType {
		return appendTime(b, v.Interface().(time.Time))
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, present)
		}
		return append(b, missing)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint32, reflect.Uint8:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v.Float()))
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, missing)
		}
		return appendValue(append(b, present), v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return append(b, missing)
		}
		return appendElements(binary.AppendUvarint(append(b, present), uint64(v.Len())), v)
	case reflect.Array:
		return appendElements(b, v)
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	default:
		panic(fmt.Sprintf("no checksum over a %s", v.Type()))
	}
}

func appendElements(b []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return append(b, v.Bytes()...)
	}
	for i := range v.Len() {
		b = appendValue(b, v.Index(i))
	}
	return b
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, missing)
	}
	return binary.AppendVarint(append(b, present), t.UnixMicro())
}
