package job

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestRender_Bytes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	controls := strings.Repeat("\x01", 4096)
	for name, x := range map[string]struct{ headers, sent, contentType, shown string }{
		"bytes": {`{}`, string(all), "application/octet-stream",
			`"body":"` + base64.StdEncoding.EncodeToString(all) + `","encoding":"base64"`},
		"text":     {`{}`, "é\n", "application/octet-stream", `"body":"é\n"`},
		"no bytes": {`{}`, "", "application/octet-stream", `"body":""`},
		"dynamic fields": {`{"Content-Type":"application/json"}`, `{"a":"$job.id","$state":1}`, "",
			`"body":"{\"a\":\"$job.id\",\"$state\":1}"`},
		"a form":              {`{"content-type":"application/x-www-form-urlencoded"}`, `{"a":1}`, "", `"body":"{\"a\":1}"`},
		"short control bytes": {`{}`, "\x01\x02", "application/octet-stream", `"body":"\u0001\u0002"`},
		"control bytes": {`{}`, controls, "application/octet-stream",
			`"body":"` + base64.StdEncoding.EncodeToString([]byte(controls)) + `","encoding":"base64"`},
	} {
		spec := ReadSpec(rawjson.Value(`{"method":"post","url":"https://x","headers":` + x.headers + `,"body_base64":"` +
			base64.StdEncoding.EncodeToString([]byte(x.sent)) + `"}`))
		o, err := Render(&spec, NewDynamic(7, &Schedule{State: rawjson.Value(`{"x":1}`)}))
		if err != nil || o.Body == nil || string(o.Body) != x.sent || o.ContentType != x.contentType {
			t.Errorf("%s: sent %q as %q, %v", name, o.Body, o.ContentType, err)
		}
		if got, want := string(o.AppendPayload(nil)), `{`+x.shown+`,"headers":`+x.headers+`,"query":{},"url":"https://x"}`; got != want {
			t.Errorf("%s: the log is %.300s, want %.300s", name, got, want)
		}
	}
}

func TestMerge_OfBodyAndBytesOneStays(t *testing.T) {
	for _, x := range []struct{ args, changes, want string }{
		{`{"body":{"a":1},"url":"https://x"}`, `{"body_base64":"AA=="}`, `{"body_base64":"AA==","url":"https://x"}`},
		{`{"url":"https://x","body_base64":"AA=="}`, `{"body":[]}`, `{"url":"https://x","body":[]}`},
		{`{"url":"https://x","body_base64":"AA=="}`, `{"body_base64":null}`, `{"url":"https://x"}`},
	} {
		if got := Merge(rawjson.Value(x.args), rawjson.Members(rawjson.Value(x.changes))); string(got) != x.want {
			t.Errorf("%s with %s is %s, want %s", x.args, x.changes, got, x.want)
		}
	}
}

func FuzzBytes(f *testing.F) {
	for _, seed := range []string{`""`, `"AA=="`, `"AAE"`, `"A\u0041E="`, `"AA\n=="`, `7`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := rawjson.Read([]byte(text))
		if err != nil {
			return
		}
		b, ok := bytesOf(v)
		if ok && base64.StdEncoding.EncodeToString(b) != rawjson.Text(v) {
			t.Errorf("%s is not the base64 of %q", text, b)
		}
	})
}
