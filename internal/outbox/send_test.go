package outbox

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadItems_ReadsWhatTheServiceResponds(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text string
		n    int
		want string // status and problem of each; "" if it is no response to a batch
	}{
		{`{"data":[{"status":201,"job":{"id":"a","job_id":1}},{"status":200,"job":{"id":"b","has_confict":true}}]}`, 2, "201 ; 200 "},
		{` { "more" : [ { "data" : 1 } ] , "data" : [ { "problem" : { "detail" : "}]" } , "x" : [ ] , "status" : 422 } ] } `, 1,
			`422 { "detail" : "}]" }`},
		{`{"data":[{}]}`, 1, "0 "},
		{`{"data":[]}`, 1, ""},
		{`{"data":[{"status":201},{"status":201}]}`, 1, ""},
		{`{"data":[{"status":201}]`, 1, ""},
		{`{"data":[{"status":"201"}]}`, 1, ""},
		{`{"data":[201]}`, 1, ""},
		{`{"data":{"status":201}}`, 1, ""},
		{`{"data":null}`, 1, ""},
		{`[{"status":201}]`, 1, ""},
		{`<html>`, 1, ""},
		{``, 1, ""},
	} {
		items, ok := readItems([]byte(x.text), x.n)
		var got []string
		for _, i := range items {
			got = append(got, fmt.Sprintf("%d %s", i.status, i.problem))
		}
		if text := strings.Join(got, "; "); text != x.want && ok || ok != (x.want != "") {
			t.Errorf("%s: %q, %v; want %q", x.text, text, ok, x.want)
		}
	}
}

func BenchmarkReadItems(b *testing.B) {
	const n = maxRows
	text := []byte(`{"data":[` + strings.Repeat(`{"status":201,"job":{"id":"01a22133-a7a8-78f2-8ba7-812288282945","job_id":123456}},`, n-1) +
		`{"status":201,"job":{"id":"01a22133-a7a8-78f2-8ba7-812288282945","job_id":123456}}]}`)
	for b.Loop() {
		if _, ok := readItems(text, n); !ok {
			b.Fatal("not read")
		}
	}
}
