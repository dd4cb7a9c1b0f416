package job

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestWhole_InsertsThePartsFromLogs(t *testing.T) {
	a, b := uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff"), uuid.New()
	d := &Delivery{Body: rawjson.Value(`{"x":{},"y":{}}`), Parts: []Part{{At: 6, Log: a, From: 1, To: 6}, {At: 13, Log: b, From: 0, To: 5}}}
	payloads := map[uuid.UUID]rawjson.Value{a: rawjson.Value(`{"p":1}`), b: rawjson.Value(`"q":2,`)}
	whole, err := d.Whole(payloads)
	if want := `{"x":{"p":1},"y":{"q":2}}`; err != nil || string(whole) != want {
		t.Errorf("%s, %v; want %s", whole, err, want)
	}
	if d.Size() != len(whole) {
		t.Errorf("size %d, want %d", d.Size(), len(whole))
	}
	delete(payloads, b)
	if _, err := d.Whole(payloads); err == nil {
		t.Error("a message was made whole without one of its logs")
	}
	if got, want := FormatParts(d.Parts[:1]), "6 1 6 00112233445566778899aabbccddeeff"; got != want {
		t.Errorf("written as %q, want %q", got, want)
	}
}

func TestParseParts_ReadsWhatFormatPartsWrote(t *testing.T) {
	for _, parts := range [][]Part{nil, {{At: 1, Log: uuid.New(), From: 2, To: 3}},
		{{Log: uuid.New()}, {At: 1 << 20, Log: uuid.New(), From: 1, To: 2 << 20}}} {
		got, err := ParseParts(FormatParts(parts))
		if err != nil || !reflect.DeepEqual(got, parts) {
			t.Errorf("%v, %v; want %v", got, err, parts)
		}
	}
}

func TestKeptParts_DamagedTextFailsTheDelivery(t *testing.T) {
	d := &Delivery{Body: rawjson.Value(`{}`), Parts: KeptParts("1 2 3")}
	if whole, err := d.Whole(map[uuid.UUID]rawjson.Value{uuid.Nil: rawjson.Value(`{}`)}); err == nil {
		t.Errorf("it was made whole: %s", whole)
	}
	if parts := KeptParts(""); parts != nil {
		t.Errorf("a message without parts has %v", parts)
	}
}

func FuzzParseParts(f *testing.F) {
	f.Add("")
	f.Add("6 1 6 00112233445566778899aabbccddeeff,7 0 5 ffeeddccbbaa99887766554433221100")
	f.Add("6 1 6 00112233,")
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := ParseParts(text)
		if err != nil {
			return
		}
		again, err := ParseParts(FormatParts(parts))
		if err != nil || !reflect.DeepEqual(parts, again) {
			t.Errorf("%q: %v, then %v, %v", text, parts, again, err)
		}
	})
}

func TestAppendResponse_UsesBase64OnlyForBodiesThatEscapingMakesTooLarge(t *testing.T) {
	for _, x := range []struct {
		name, body string
		binary     bool
	}{
		{"text", strings.Repeat("Hello, world!\n\t\"quoted\"", 20_000)[:MaxResponseBody], false},
		{"a small body of control characters", strings.Repeat("\x01", 64<<10), false},
		{"a large body of control characters", strings.Repeat("\x01", 128<<10), true},
		{"nothing but quotes", strings.Repeat(`"`, MaxResponseBody), true},
		{"letters", strings.Repeat("a", MaxResponseBody), false},
	} {
		r := &Response{Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(x.body)}
		b := AppendResponse(nil, r, time.Second)
		if got := strings.HasSuffix(string(b), `","encoding":"base64","duration_ms":1000,"truncated":false`); got != x.binary {
			t.Errorf("%s: kept as base64: %t, want %t", x.name, got, x.binary)
		}
		if len(b) > maxEscaped+1024 {
			t.Errorf("%s: kept in %d bytes", x.name, len(b))
		}
	}
}
