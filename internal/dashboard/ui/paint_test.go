package ui

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestPaint_MarksTokensAndEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "<b>", "n": -1.5e3, "t": true}`: `{<span class="jk">&#34;a&#34;</span>: <span class="js">&#34;&lt;b&gt;&#34;</span>, <span class="jk">&#34;n&#34;</span>: <span class="jn">-1.5e3</span>, <span class="jk">&#34;t&#34;</span>: <span class="jl">true</span>}`,
		`"a \" b"`:                             `<span class="js">&#34;a \&#34; b&#34;</span>`,
		`["cut`:                                `[<span class="js">&#34;cut</span>`,
		`"ends in \`:                           `<span class="js">&#34;ends in \</span>`,
		``:                                     ``,
		"{}":                                   "{}",
	} {
		if got := Paint(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	many := Paint("[" + strings.Repeat("1,", 5000) + "1]")
	if got := strings.Count(many, "<span"); got != maxMarks || !strings.HasSuffix(many, ",1]") {
		t.Errorf("%d tokens are marked, want %d", got, maxMarks)
	}
}

func TestHeaderTable_IsBounded(t *testing.T) {
	rows, left := headerRows(rawjson.Value(`{"a":"1","b":["2","3"],"c":"` + strings.Repeat("x", 5000) + `"}`))
	if left != 0 || len(rows) != 4 || rows[2] != (header{"b", "3"}) || len(rows[3].value) != 1000 {
		t.Errorf("rows %v, %d left", rows, left)
	}
	many := `{"h":["x"` + strings.Repeat(`,"x"`, 200) + `]}`
	if rows, left = headerRows(rawjson.Value(many)); len(rows) != maxHeaders || left != 101 {
		t.Errorf("%d rows, %d left; want %d and 101", len(rows), left, maxHeaders)
	}
}

func FuzzPaint(f *testing.F) {
	f.Add(`{"a":[1,true,"x\"y"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		painted := Paint(text)
		for _, class := range []string{"jk", "js", "jn", "jl"} {
			painted = strings.ReplaceAll(painted, `<span class="`+class+`">`, "")
		}
		painted = strings.ReplaceAll(painted, "</span>", "")
		if strings.ContainsAny(painted, "<>") {
			t.Errorf("%q has markup of its own: %q", text, painted)
		}
	})
}
