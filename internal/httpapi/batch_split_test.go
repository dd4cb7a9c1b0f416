package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func texts(parts []part) string {
	var all []string
	for _, p := range parts {
		all = append(all, string(p.text))
	}
	return strings.Join(all, "|")
}

func TestSplitLines_SkipsBlankLinesAndNamesTheOthers(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "{}", "{}\n": "{}", "\n {\"a\":1} \r\n\t\n[]": `{"a":1}|[]`, "1\n2\n3": "1|2|3", "{\"a\"\n:1}": `{"a"|:1}`,
	} {
		parts, err := splitLines([]byte(text), 3)
		if err != nil || texts(parts) != want {
			t.Errorf("%q is split into %q (%v), want %q", text, texts(parts), err, want)
		}
	}
	parts, _ := splitLines([]byte("\n\n{}\n\n{}"), 3)
	if parts[0].name != "line 3" || parts[1].name != "line 5" {
		t.Errorf("the lines are called %q and %q", parts[0].name, parts[1].name)
	}
}

func TestSplit_RefusesWhatIsNoBatch(t *testing.T) {
	for text, want := range map[string]fault.Code{
		"": fault.Unreadable, "  ": fault.Unreadable, "[": fault.Unreadable, "[1": fault.Unreadable, "[1,": fault.Unreadable,
		"[1 2]": fault.Unreadable,
		"[1] x": fault.Unreadable, "[1]]": fault.Unreadable, "{": fault.Unreadable, "[]": fault.Invalid, "{}": fault.Invalid,
		"null":      fault.Invalid,
		"[1,2,3,4]": fault.TooLarge, `["a`: fault.Unreadable,
	} {
		parts, err := splitArray([]byte(text), 3)
		for _, p := range parts {
			if _, bad := rawjson.Read(p.text); bad != nil && err == nil {
				err = fault.New(fault.Unreadable, bad.Error())
			}
		}
		if fault.CodeOf(err) != want || err == nil {
			t.Errorf("%q: %v, want a fault of code %d", text, err, want)
		}
	}
	for text, want := range map[string]fault.Code{"": fault.Invalid, " \n\n\t": fault.Invalid, "1\n2\n3\n4": fault.TooLarge} {
		if _, err := splitLines([]byte(text), 3); err == nil || fault.CodeOf(err) != want {
			t.Errorf("%q: %v, want a fault of code %d", text, err, want)
		}
	}
}

// FuzzSplitArray verifies that an array is accepted exactly if it is JSON, and then
// has the elements that encoding/json finds.
func FuzzSplitArray(f *testing.F) {
	for _, seed := range []string{`[]`, `[1,2]`, `[{"a":[1,"]"]},"\"",null]`, `[1,]`, `[,]`, `[{]}`, ` [ 1 , 2 ] `, `[1]x`, `["a"`,
		`[[[]]]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []json.RawMessage
		valid := strings.HasPrefix(strings.TrimLeft(text, jsonSpace), "[")
		if value, err := rawjson.Read([]byte(text)); err != nil || !valid {
			valid = false
		} else if err := json.Unmarshal(value, &want); err != nil {
			t.Skip("encoding/json is stricter")
		}
		parts, err := splitArray([]byte(text), 1000)
		for _, p := range parts {
			if _, bad := rawjson.Read(p.text); bad != nil {
				err = bad
			}
		}
		if len(want) > 1000 {
			t.Skip()
		}
		if valid && len(want) > 0 != (err == nil) {
			t.Fatalf("%q has %d elements; splitting it: %v", text, len(want), err)
		}
		if err == nil && len(parts) != len(want) && valid {
			t.Fatalf("%q has %d elements, not %d", text, len(want), len(parts))
		}
	})
}

func FuzzSplitLines(f *testing.F) {
	f.Add("{}\n\n{}\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := splitLines([]byte(text), 100)
		if err != nil {
			return
		}
		joined := strings.Map(func(r rune) rune {
			if strings.ContainsRune(jsonSpace, r) {
				return -1
			}
			return r
		}, text)
		got := strings.NewReplacer(" ", "", "\t", "", "\r", "", "|", "").Replace(texts(parts))
		if got != strings.ReplaceAll(joined, "|", "") {
			t.Fatalf("the lines of %q are %q", text, texts(parts))
		}
	})
}

func TestPrefersMinimal_ReadsTheFirstReturn(t *testing.T) {
	for values, want := range map[string]bool{
		"return=minimal": true, "Return = Minimal": true, `return="minimal"`: true, "wait=5, return=minimal": true,
		"return=minimal; x=1": true,
		"":                    false, "return=representation": false, "return=representation, return=minimal": false, "minimal": false,
		"return": false,
	} {
		if got := prefersMinimal([]string{values}); got != want {
			t.Errorf("Prefer: %s is minimal: %v", values, got)
		}
	}
	if !prefersMinimal([]string{"wait=5", "return=minimal"}) {
		t.Error("the second header is not read")
	}
}

// The relay of an outbox adds a request_id to items that were as large as a request may be.
func TestMaxItem_LeavesRoomForTheRequestID(t *testing.T) {
	const id = `"request_id":"0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b",`
	whole := `{"body":"` + strings.Repeat("x", job.MaxRequest-len(`{"body":""}`)) + `"}`
	for item, want := range map[string]bool{
		whole: true, whole[:1] + id + whole[1:]: true, `{"a":1,` + whole[1:]: false, `{"a":1,` + id + whole[1:]: false,
	} {
		if fits := len(item) <= maxItem(rawjson.Value(item)); fits != want {
			t.Errorf("%.80s, %d bytes: fits %t", item, len(item), fits)
		}
	}
}
