package mcp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestVisible_EscapesWhatHidesText(t *testing.T) {
	v := rawjson.Quote("a\u202eb\u200bc\U000e0041d</data>é👩‍👧")
	if got, want := string(visible(v)), `"a\\u202eb\\u200bc\\ue0041d\u003c/data\u003eé👩‍👧"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBounded_LeavesRecordsOut(t *testing.T) {
	record := rawjson.Object([]rawjson.Member{{Name: "a", Value: rawjson.Quote(strings.Repeat("x", 3000))},
		{Name: "b", Value: rawjson.Value("1.10")}})
	var many []rawjson.Value
	for range 1000 {
		many = append(many, record)
	}
	short, kept, all := bounded(rawjson.Array(many), maxData)
	if all != 1000 || kept >= all || kept < 50 || len(short) > maxData || !short.IsValid() || len(rawjson.Elements(short)) != kept {
		t.Errorf("%d of %d in %d bytes", kept, all, len(short))
	}
	if short, kept, all := bounded(rawjson.Array(many[:20]), maxData); kept != all ||
		!strings.Contains(string(short), "(cut, 3000 bytes in all)") {
		t.Errorf("20 records become %d in %d bytes", kept, len(short))
	}
	if short, _, _ := bounded(record, maxData); string(short) != string(record) {
		t.Errorf("a small record is changed: %.200s", short)
	}
}

// Whatever is stored, data is valid JSON of a bounded size, without hidden characters.
func FuzzBounded(f *testing.F) {
	for _, seed := range []string{`{"a":["b",1.10,null,{"c":true}]}`, `["` + strings.Repeat("ä", 40) + `"]`, `[[[[1]]]]`, `"<\u202e>"`,
		`{"\u200b":1}`} {
		f.Add([]byte(seed), uint16(64))
	}
	f.Fuzz(func(t *testing.T, text []byte, most uint16) {
		v, err := rawjson.Read(text)
		if err != nil {
			return
		}
		size := 2048 + int(most)
		short, kept, all := bounded(v, size)
		if !short.IsValid() || kept > all {
			t.Fatalf("%s becomes %s", v, short)
		}
		if len(short) > 8*size {
			t.Errorf("%d bytes become %d, at most %d", len(v), len(short), size)
		}
		if strings.ContainsFunc(string(short), hides) {
			t.Errorf("%s has hidden characters", short)
		}
	})
}

// Whatever a client sends as arguments, reading them ends with arguments or a sentence.
func FuzzReadArguments(f *testing.F) {
	for _, seed := range []string{``, `null`, `[]`, `{"job_id":1}`, `{"job_id":"../x","tag":["a",1]}`, `{"url":"https://x","body":{"a":1}}`,
		`{"job_id":{}}`} {
		f.Add(seed, uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		tool := &tools[int(which)%len(tools)]
		a, err := readArguments(tool, []byte(text))
		if err == nil {
			_, err = a.path(tool.call.path)
		}
		if err == nil {
			_, err = a.query(tool.call.fixed)
		}
		var c *complaint
		if err != nil && (!errors.As(err, &c) || len(c.text) > 4096) {
			t.Errorf("%T %v", err, err)
		}
		if err == nil && !rawjson.Value(a.body(&tool.call)).IsValid() && a.body(&tool.call) != nil {
			t.Error("the body is no JSON")
		}
	})
}

func TestToken_ConfirmsOneChangeOfOneClient(t *testing.T) {
	s, other := &session{secret: "sk_a"}, &session{secret: "sk_b"}
	now := time.Unix(1_800_000_000, 0)
	token := s.token("cancel_schedule", "record", now.Add(confirmWithin))
	if !s.confirmed(token, "cancel_schedule", "record", now) {
		t.Error("the token does not confirm")
	}
	for what, wrong := range map[string]bool{
		"another key":     other.confirmed(token, "cancel_schedule", "record", now),
		"another tool":    s.confirmed(token, "cancel_job", "record", now),
		"another record":  s.confirmed(token, "cancel_schedule", "record2", now),
		"late":            s.confirmed(token, "cancel_schedule", "record", now.Add(confirmWithin)),
		"a later expiry":  s.confirmed("zzzzzz"+token[6:], "cancel_schedule", "record", now),
		"nothing":         s.confirmed("", "cancel_schedule", "record", now),
		"too far":         s.confirmed(s.token("cancel_schedule", "record", now.Add(time.Hour)), "cancel_schedule", "record", now),
		"something large": s.confirmed(strings.Repeat("z", 1<<20), "cancel_schedule", "record", now),
	} {
		if wrong {
			t.Errorf("confirmed with %s", what)
		}
	}
}

func TestLines_AreBounded(t *testing.T) {
	read := func(text string) error {
		r := bufio.NewReader(strings.NewReader(text))
		for {
			if _, err := readLine(r); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	line := strings.Repeat("a", maxLine-10) + "\n"
	if err := read(line + line + "b\n" + line); err != nil {
		t.Errorf("long lines: %v", err)
	}
	if err := read("a\n" + strings.Repeat("a", maxLine+1)); err == nil {
		t.Error("a line without end is read")
	}
	if err := read(strings.Repeat("a", maxLine+1) + "\nb\n"); err == nil {
		t.Error("a line that is too long is read")
	}
	if err := read(""); err != nil {
		t.Error(err)
	}
}

func TestWholeRecords_AreThoseBeforeTheCut(t *testing.T) {
	for text, want := range map[string]string{
		`{"data":[{"a":1},{"b":"x`: `[{"a":1}]`, `{"data":[{"a":1},{"a":2}`: `[{"a":1},{"a":2}]`, `{"data":[{"a`: ``, `{"data":{"a":1`: ``,
		`[1`: ``, ``: ``,
	} {
		if got := string(wholeRecords([]byte(text))); got != want {
			t.Errorf("%s has %s, want %s", text, got, want)
		}
	}
}
