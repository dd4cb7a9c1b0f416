package rawjson

import (
	"encoding/base64"
	"strconv"
	"time"
)

// Fields are the members of an object that is being written, in order. The zero value has
// none.
type Fields []Member

// Add adds a member.
func (f *Fields) Add(name string, value Value) { *f = append(*f, Member{Name: name, Value: value}) }

// Text adds a string.
func (f *Fields) Text(name, value string) { f.Add(name, Quote(value)) }

// Number adds an integer.
func (f *Fields) Number(name string, n int64) { f.Add(name, strconv.AppendInt(nil, n, 10)) }

// Seconds adds a duration as a number of seconds.
func (f *Fields) Seconds(name string, d time.Duration) {
	f.Add(name, strconv.AppendFloat(nil, d.Seconds(), 'f', -1, 64))
}

// Texts adds an array of strings.
func (f *Fields) Texts(name string, values []string) {
	b := []byte{'['}
	for i, value := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(b, value)
	}
	f.Add(name, append(b, ']'))
}

// Bytes adds bytes as a string of standard base64 with padding.
func (f *Fields) Bytes(name string, value []byte) {
	b := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(value))+2), '"')
	b = base64.StdEncoding.AppendEncode(b, value)
	f.Add(name, append(b, '"'))
}

// Object returns the object.
func (f *Fields) Object() Value { return Object(*f) }
