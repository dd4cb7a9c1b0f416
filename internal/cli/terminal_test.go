package cli

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/punctual-dev/punctual/client"
)

func TestPrintable_EscapesWhatChangesATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain text é 日本 👨‍👩‍👧":   "plain text é 日本 👨‍👩‍👧",
		"\x1b[2J\x1b]0;title\x07": `\x1b[2J\x1b]0;title\a`,
		"a\r\nb\tc":               `a\r\nb\tc`,
		"csi \u009b31m":           `csi \u009b31m`,
		"right \u202eleft":        `right \u202eleft`,
		"zero\u200bwidth":         `zero\u200bwidth`,
		"line\u2028":              `line\u2028`,
		"bad \xff":                "bad \ufffd",
	} {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[31mb")
	f.Add("\u202e\u009b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range printable(text) {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("printable(%q) has %q", text, r)
			}
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var back, want string
		if err := json.Unmarshal(safeJSON(quoted), &back); err != nil {
			t.Fatalf("safeJSON(%q): %v", quoted, err)
		}
		if err := json.Unmarshal(quoted, &want); err != nil || back != want {
			t.Errorf("safeJSON changes %q to %q, %v", want, back, err)
		}
	})
}

func TestSafeJSON_KeepsTheValue(t *testing.T) {
	t.Parallel()
	text := "{\n  \"a\": \"\u009b31m \u202e é \U000e0001\"\n}"
	want := "{\n  \"a\": \"\\u009b31m \\u202e é \\udb40\\udc01\"\n}"
	if got := string(safeJSON([]byte(text))); got != want {
		t.Errorf("safeJSON gives %s, want %s", got, want)
	}
}

func TestTable_FitsTheTerminal(t *testing.T) {
	t.Parallel()
	tab := table{columns: []column{{title: "ID"}, stateColumn("STATE"), {title: "REQUEST", shrink: true}, {title: "NAME", shrink: true}}}
	tab.add("1", "completed", "GET https://example.com/a/very/long/path", "日本語の名前です")
	tab.add("29180", "discarded", "GET https://example.com/", "")
	for _, x := range []struct {
		to   terminal
		want string
	}{
		{terminal{}, `
ID     STATE      REQUEST                                   NAME
1      completed  GET https://example.com/a/very/long/path  日本語の名前です
29180  discarded  GET https://example.com/
`},
		{terminal{width: 50}, `
ID     STATE      REQUEST          NAME
1      completed  GET https://ex…  日本語の名前で…
29180  discarded  GET https://ex…
`},
		{terminal{width: 1}, `
ID     STATE      REQUEST   NAME
1      completed  GET htt…  日本語…
29180  discarded  GET htt…
`},
		{terminal{width: 1000, colours: true}, `
ID     STATE      REQUEST                                   NAME
1      ` + "\x1b[32mcompleted\x1b[0m" + `  GET https://example.com/a/very/long/path  日本語の名前です
29180  ` + "\x1b[31mdiscarded\x1b[0m" + `  GET https://example.com/
`},
	} {
		var out bytes.Buffer
		if err := tab.print(&out, x.to); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + out.String(); got != x.want {
			t.Errorf("%+v: the table is%swant%s", x.to, got, x.want)
		}
		for line := range strings.Lines(out.String()) {
			if n := cells(strings.TrimSuffix(line, "\n")); x.to.width >= leastWidth && !x.to.colours && n > x.to.width {
				t.Errorf("a line has %d cells at width %d: %q", n, x.to.width, line)
			}
		}
	}
}

func TestMoment_IsInTheZoneOfATerminalAndElseRFC3339(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CET", 3600)
	for _, x := range []struct {
		to         terminal
		text, want string
	}{
		{terminal{}, "2026-11-22T09:00:00.123456Z", "2026-11-22T09:00:00.123456Z"},
		{terminal{}, "2026-11-22T09:00:00.000000Z", "2026-11-22T09:00:00Z"},
		{terminal{}, "2026-11-22T09:00:00", "2026-11-22T09:00:00Z"},
		{terminal{zone: zone}, "2026-11-22T09:00:00.123456Z", "2026-11-22 10:00:00 CET"},
		{terminal{zone: zone}, "2026-11-22T23:30:00", "2026-11-23 00:30:00 CET"},
	} {
		var at client.Time
		if err := at.UnmarshalJSON([]byte(strconv.Quote(x.text))); err != nil {
			t.Fatal(err)
		}
		if got := x.to.moment(at); got != x.want {
			t.Errorf("%q is shown as %q, want %q", x.text, got, x.want)
		}
	}
}

func TestTerminal_ColoursAreThereOnlyIfAskedFor(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{"auto": "x", "never": "x", "always": "\x1b[31mx\x1b[0m"} {
		if got := (terminal{}).with(how).paint(red, "x"); got != want {
			t.Errorf("--color=%s: %q, want %q", how, got, want)
		}
	}
}
