package job_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// counting seals with a counter, so that two tokens of one text differ.
type counting struct{ n *int }

func (c counting) Seal(account uuid.UUID, part string, text []byte) (string, error) {
	*c.n++
	token, err := job.Plain{}.Seal(account, part, text)
	return strings.Replace(token, ":", ":"+strconv.Itoa(*c.n)+":", 1), err
}

func (counting) Open(account uuid.UUID, part, token string) ([]byte, error) {
	pieces := strings.Split(token, ":")
	if len(pieces) != 3 {
		return nil, errors.New("no token")
	}
	return job.Plain{}.Open(account, part, pieces[0]+":"+pieces[2])
}

const hiddenRequest = `{"url":"https://x","method":"post","body":{"a":1.10},"headers":{"X-Key":"k3y","x-list":["a","b"],"X-Open":"o"},"redact":["body","header:x-KEY","header:X-List"]}`

func hiddenJob(t *testing.T, request string, sealer job.Sealer) *job.Job {
	t.Helper()
	d, err := job.Read(rawjson.Value(request), job.ReadOptions{Now: changedAt, Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	return &job.Job{Args: d.Args, Hidden: d.Hidden, Revision: 1}
}

func TestRedact_ArgsShowNothingAndTheAttemptHasAll(t *testing.T) {
	j := hiddenJob(t, hiddenRequest, nil)
	want := `{"url":"https://x","method":"post","body":"[redacted]","headers":{"X-Key":"[redacted]","x-list":"[redacted]","X-Open":"o"},"redact":["body","header:x-KEY","header:X-List"]}`
	if string(j.Args) != want {
		t.Errorf("args are %s", j.Args)
	}
	stored := job.JoinArgs(j.Args, &j.Hidden)
	if strings.Contains(string(stored), "k3y") {
		t.Errorf("stored as %s", stored)
	}
	args, hidden := job.SplitArgs(stored)
	if string(args) != want || hidden.Body != j.Hidden.Body || hidden.Headers != j.Hidden.Headers {
		t.Errorf("read as %s, %+v", args, hidden)
	}
	spec, err := job.ReadSentSpec(args, &hidden, nil, job.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := job.Render(&spec, job.NewDynamic(7, nil))
	if err != nil || !strings.HasPrefix(string(o.Body), `{"a":1.10,"$job"`) || len(o.Header) != 4 || o.Header[0].Value != "k3y" ||
		o.Header[2].Value != "b" {
		t.Errorf("sent %s, %+v, %v", o.Body, o.Header, err)
	}
	if got := string(o.AppendPayload(nil)); got != `{"body":"[redacted]","headers":{"X-Key":"[redacted]","x-list":"[redacted]","X-Open":"o"},"query":{},"url":"https://x"}` {
		t.Errorf("the log is %s", got)
	}
}

func TestSplitArgs_LeavesWhatClientsGave(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"url":"https://x"}`, `{"url":"https://x","body":{"$hidden":{"body":"x"}}}`,
		`{"url":"https://x","body":{"a":1,"$hidden":{"body":"x"}}}`,
		`{"body":"a,\"$hidden\":{\"body\":\"x\"}}","url":"https://x"}`, `{"url":"https://x","body":[{"$hidden":{"body":"x"}}]}`,
		`{"body":{"a":{"b":"c"}}}`,
	} {
		if args, h := job.SplitArgs(rawjson.Value(text)); string(args) != text || !h.IsZero() {
			t.Errorf("%s is read as %s, %+v", text, args, h)
		}
	}
}

func FuzzSplitArgs(f *testing.F) {
	f.Add(`{"a":1}`, "tok", "", "s")
	f.Add(`{"body":{"$hidden":{"body":"x"}}}`, "", "x:y", "")
	f.Fuzz(func(t *testing.T, text, body, headers, names string) {
		args, err := rawjson.Read([]byte(text))
		if err != nil || args.Kind() != '{' || len(args) < 3 {
			return
		}
		args = rawjson.Object(rawjson.Members(args))
		if rawjson.Get(args, "$hidden") != nil {
			return // no field has this name
		}
		if got, h := job.SplitArgs(args); string(got) != string(args) || !h.IsZero() {
			t.Errorf("%s is read as %s, %+v", args, got, h)
		}
		h := job.Hidden{Body: letters(body), Headers: letters(headers)}
		if got, hidden := job.SplitArgs(job.JoinArgs(args, &h)); string(got) != string(args) || hidden.Body != h.Body ||
			hidden.Headers != h.Headers {
			t.Errorf("%s with %+v is read as %s, %+v", args, h, got, hidden)
		}
	})
}

// letters returns the characters of a text that tokens may have.
func letters(text string) string {
	return strings.Map(func(c rune) rune {
		if c < 128 && strings.ContainsRune("abcxyzABCXYZ0189:+/=", c) {
			return c
		}
		return -1
	}, text)
}

func TestRedact_EditsLeaveOrReplaceWhatIsHidden(t *testing.T) {
	n := 0
	sealer := counting{&n}
	j := hiddenJob(t, hiddenRequest, sealer)
	for _, x := range []struct {
		patch   string
		changes []string // nil: refused at
		refused []string
		sent    string // of body and X-Key, if it is not the same
	}{
		{patch: `{"name":"n"}`, changes: []string{"/name"}},
		{patch: `{"body":"[redacted]"}`, changes: []string{}},
		{patch: `{"headers":{"x-key":"[redacted]","X-List":"[redacted]","X-Open":"p"}}`, changes: []string{"/headers"}},
		{patch: `{"body":{"a":1.10}}`, changes: []string{}},
		{patch: `{"body":{"a":2}}`, changes: []string{"/body"}, sent: `{"a":2}`},
		{patch: `{"body_base64":"AA=="}`, changes: []string{"/body", "/body_base64"}, sent: "\x00"},
		{patch: `{"body_base64":"[redacted]"}`, refused: []string{"#/body_base64"}},
		{patch: `{"headers":{"X-Open":"[redacted]"}}`, refused: []string{"#/headers/X-Open"}},
		{patch: `{"headers":{"X-Key":["[redacted]"],"X-List":["a","[redacted]"],"X-Open":["[redacted]"]}}`,
			refused: []string{"#/headers/X-Key/0", "#/headers/X-List/1", "#/headers/X-Open/0"}},
		{patch: `{"redact":null}`, refused: []string{"#/redact", "#/redact", "#/redact"}},
		{patch: `{"redact":["body","headers"]}`, changes: []string{"/headers", "/redact"}},
		{patch: `{"redact":["headers"],"body":"[redacted]"}`, refused: []string{"#/redact"}},
		{patch: `{"redact":["headers"],"body":{"a":3}}`, changes: []string{"/body", "/headers", "/redact"}, sent: `{"a":3}`},
		{patch: `{"redact":["body","headers","bdy",1,"header:","header:a b","query"]}`,
			refused: []string{"#/redact/2", "#/redact/3", "#/redact/4", "#/redact/5", "#/redact/6"}},
	} {
		e, err := job.ReadJobEdit(j, rawjson.Value(x.patch), job.ReadOptions{Now: changedAt, Sealer: sealer})
		if x.refused != nil {
			if !slices.Equal(pointers(err), x.refused) {
				t.Errorf("%s: problems at %q, want %q", x.patch, pointers(err), x.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.patch, err)
			continue
		}
		var paths []string
		for _, c := range e.Changes {
			paths = append(paths, c.Path)
			if strings.Contains(string(c.From)+string(c.To), "1.10") || strings.Contains(string(c.From)+string(c.To), "k3y") {
				t.Errorf("%s: the history shows %+v", x.patch, c)
			}
		}
		slices.Sort(paths)
		if !slices.Equal(paths, x.changes) && len(paths)+len(x.changes) > 0 {
			t.Errorf("%s changes %q, want %q", x.patch, paths, x.changes)
		}
		spec, err := job.ReadSentSpec(e.Args, &e.Hidden, sealer, job.Owner{})
		if err != nil {
			t.Errorf("%s: %v", x.patch, err)
			continue
		}
		spec.Metadata = false
		o, err := job.Render(&spec, job.Dynamic{})
		if want := x.sent; err != nil || want != "" && string(o.Body) != want || want == "" && string(o.Body) != `{"a":1.10}` {
			t.Errorf("%s: sends %s, %v", x.patch, o.Body, err)
		}
	}
	if _, err := job.Read(rawjson.Value(`{"url":"https://x","redact":["body"],"body":"[redacted]"}`),
		job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), []string{"#/body"}) {
		t.Errorf("a create with the text has problems at %q", pointers(err))
	}
}

func TestRedact_ReplacingAScheduleLeavesWhatIsHidden(t *testing.T) {
	n := 0
	sealer := counting{&n}
	const request = `{"url":"https://x","method":"post","repeat_every":60,"body":"s3cret","redact":["body"]}`
	d, err := job.Read(rawjson.Value(request), job.ReadOptions{Now: changedAt, Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	s := &job.Schedule{ID: uuid.New(), Args: d.Args, Hidden: d.Hidden, Revision: 3, FirstDue: changedAt}
	read := func(request string) (*job.Edit, error) {
		opts := job.ReadOptions{Now: changedAt, Sealer: sealer, Replaces: func() *job.Schedule { return s }}
		draft, err := job.ReadSchedule(rawjson.Value(request), opts)
		if err != nil {
			return nil, err
		}
		return job.Replace(s, draft)
	}
	for text, want := range map[string]int{
		request: 0, strings.Replace(request, "s3cret", "[redacted]", 1): 0, strings.Replace(request, "s3cret", "other", 1): 1,
	} {
		e, err := read(text)
		if err != nil || len(e.Changes) != want {
			t.Errorf("%s: %v, %+v", text, err, e)
		}
	}
	for text, want := range map[string][]string{
		`{"url":"https://x","repeat_every":60,"body":"[redacted]"}`:                                                {"#/redact"},
		`{"url":"https://x","repeat_every":60,"headers":{"a":"[redacted]"},"body":"[redacted]","redact":["body"]}`: {"#/headers/a"},
	} {
		if _, err := read(text); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: problems at %q, want %q", text, pointers(err), want)
		}
	}
}

func TestRender_ConcealsPreviousInWhatIsShown(t *testing.T) {
	s := &job.Schedule{HiddenPrevious: "token", Previous: rawjson.Value(`"[redacted]"`)}
	d := job.NewDynamic(7, s)
	d.Previous = rawjson.Value(`{"x":{"y":"s3cret"}}`)
	spec := job.ReadSpec(rawjson.Value(`{"method":"post","url":"https://x","query":{"q":"$previous.x.y"},"body":{"a":"$previous.x","b":"$previous.none"}}`))
	o, err := job.Render(&spec, d)
	if err != nil || o.URL != "https://x?q=s3cret" ||
		string(o.Body) != `{"a":{"y":"s3cret"},"b":null,"$job":{"id":7},"$previous":{"x":{"y":"s3cret"}},"$state":{}}` {
		t.Errorf("sent %s to %s, %v", o.Body, o.URL, err)
	}
	if got := string(o.AppendPayload(nil)); got != `{"body":{"a":"[redacted]","b":"[redacted]","$job":{"id":7},"$previous":"[redacted]","$state":{}},"headers":{},"query":{"q":"[redacted]"},"url":"https://x"}` {
		t.Errorf("the log is %s", got)
	}
}

func TestRender_ConcealsPreviousWithoutQueryHeadersOrBody(t *testing.T) {
	s := &job.Schedule{HiddenPrevious: "token", Previous: rawjson.Value(`"[redacted]"`)}
	for _, query := range []string{``, `"query":null,`, `"query":"a=b",`, `"query":{},`} {
		for _, body := range []string{``, `,"body":{"p":"$previous.v"}`, `,"body":null`, `,"body_base64":"AA=="`} {
			for _, headers := range []string{``, `,"headers":{}`, `,"headers":null`} {
				request := `{` + query + `"method":"post","url":"https://x"` + body + headers + `}`
				d := job.NewDynamic(7, s)
				d.Previous = rawjson.Value(`{"v":"s3cret"}`)
				spec := job.ReadSpec(rawjson.Value(request))
				o, err := job.Render(&spec, d)
				if err != nil {
					t.Fatalf("%s: %v", request, err)
				}
				if got := o.AppendPayload(nil); !rawjson.Value(got).IsValid() || strings.Contains(string(got), "s3cret") {
					t.Errorf("%s: the log is %s", request, got)
				}
			}
		}
	}
}

func TestRedact_LeavesAHiddenBodyInItsFieldOnly(t *testing.T) {
	n := 0
	sealer := counting{&n}
	for stored, shown := range map[string]string{
		`"body_base64":"AAAA"`: `"body":"[redacted]"`, `"body":"AAAA"`: `"body_base64":"[redacted]"`,
	} {
		field, _, _ := strings.Cut(shown, ":")
		want := []string{"#/" + strings.Trim(field, `"`)}
		request := `{"url":"https://x","method":"post","redact":["body"],` + stored
		j := hiddenJob(t, request+`}`, sealer)
		opts := job.ReadOptions{Now: changedAt, Sealer: sealer}
		if _, err := job.ReadJobEdit(j, rawjson.Value(`{`+shown+`}`), opts); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: an edit with %s has problems at %q", stored, shown, pointers(err))
		}
		if _, err := job.ReadRerun(j, rawjson.Value(`{`+shown+`}`), opts); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: a rerun with %s has problems at %q", stored, shown, pointers(err))
		}
		d, err := job.Read(rawjson.Value(request+`,"repeat_every":60}`), opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Replaces = func() *job.Schedule {
			return &job.Schedule{ID: uuid.New(), Args: d.Args, Hidden: d.Hidden, Revision: 3, FirstDue: changedAt}
		}
		_, err = job.ReadSchedule(rawjson.Value(`{"url":"https://x","method":"post","repeat_every":60,"redact":["body"],`+shown+`}`), opts)
		if !slices.Equal(pointers(err), want) {
			t.Errorf("%s: a PUT with %s has problems at %q", stored, shown, pointers(err))
		}
	}
}

func TestRedact_TextInAListOfHeaderValuesIsRefused(t *testing.T) {
	_, err := job.Read(rawjson.Value(`{"url":"https://x","headers":{"a":["b","[redacted]"]}}`), job.ReadOptions{Now: changedAt})
	if !slices.Equal(pointers(err), []string{"#/headers/a/1"}) {
		t.Errorf("problems at %q", pointers(err))
	}
}
