package listen

import (
	"encoding/binary"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestMessage_IsReadAsItWasWritten(t *testing.T) {
	for _, m := range []*Message{
		{Type: Request, ID: 7, Method: "POST", Base: "https://listen.invalid/dev", Path: "/a?b", TimeoutMS: 3,
			Header: [][2]string{{"A", "1"}, {"A", "2"}}, Body: []byte("\x00{}")},
		{Type: Response, ID: 7, Status: 201, Body: []byte("x")},
		{Type: Failure, ID: 7, Kind: job.KindConnect, Error: "no"},
	} {
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v became %+v, %v", m, got, err)
		}
	}
}

func TestFields_AreOrderedByName(t *testing.T) {
	got := Fields(http.Header{"B": {"2", "1"}, "A": {"3"}, "C": nil})
	if want := [][2]string{{"A", "3"}, {"B", "2"}, {"B", "1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("fields are %v, want %v", got, want)
	}
}

func TestSentence_HasNoControlCharactersAndAnEnd(t *testing.T) {
	if got := sentence("a\x1b[2J\u009bb\xff\n"); got != "a [2J b\uFFFD " {
		t.Errorf("it is %q", got)
	}
	if got := sentence(strings.Repeat("é", 600)); got != strings.Repeat("é", 500) {
		t.Errorf("it has %d bytes", len(got))
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	add := func(header, body string) {
		f.Add(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(header))), header...), body...))
	}
	add(`{"type":"response","id":1,"status":200,"header":[["a","b"]]}`, "body")
	add(`{"type":"failure","id":1,"kind":"connect","error":"\u0000"}`, "")
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeAnswer(b)
		if err != nil {
			return
		}
		if m.Type == Response && (m.Status < 200 || m.Status > 999 || len(m.Body) > MaxBody) || m.Type == Failure &&
			(m.Kind == "" || m.Body != nil) {
			t.Errorf("accepted: %+v", m)
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeAnswer(again); err != nil {
			t.Errorf("%q is accepted, and not when it is written again", b)
		}
	})
}
