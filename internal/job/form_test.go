package job

import (
	"errors"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestReadForm(t *testing.T) {
	for form, want := range map[string]string{
		"url=https%3A%2F%2Fx&body[content]=hi+there&body[n]=5":         `{"url":"https://x","body":{"content":"hi there","n":"5"}}`,
		"schedule_in[]=30&schedule_in[]=seconds&retries=2&timeout=1.5": `{"schedule_in":[30,"seconds"],"retries":2,"timeout":1.5}`,
		"schedule_in[0]=30&schedule_in[1]=seconds":                     `{"schedule_in":[30,"seconds"]}`,
		"metadata=false&name=true&scheduled_at=-5.25":                  `{"metadata":false,"name":"true","scheduled_at":-5.25}`,
		"retries=05&timeout=1e3&schedule_in=":                          `{"retries":"05","timeout":"1e3","schedule_in":""}`,
		"a[b][c][]=1&a[b][c][]=2&a[b][d]=3&&":                          `{"a":{"b":{"c":["1","2"],"d":"3"}}}`,
		"query[a][]=1&query[a][]=2&headers[X-A]=1":                     `{"query":{"a":["1","2"]},"headers":{"X-A":"1"}}`,
		"flag&=x": ``,
		"flag":    `{"flag":""}`,
		"a=1&a=2": ``, "a[]=1&a=2": ``, "a=1&a[b]=2": ``, "a[b=1": ``, "a[b]c=1": ``, "a=%zz": ``, "a=%ff": ``, "": ``, "&&": ``,
	} {
		got, err := ReadForm(form)
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("ReadForm(%q) = %s, %v, want %s", form, got, err, want)
		}
	}
}

func TestReadForm_RefusesAFormThatExceedsALimitAsInvalid(t *testing.T) {
	deep := func(n int) string { return "a" + strings.Repeat("[b]", n-1) + "=1" }
	if v, err := ReadForm(deep(128)); err != nil || rawjson.Depth(v) != 128 {
		t.Errorf("128 deep: %d, %v", rawjson.Depth(v), err)
	}
	var tooDeep *rawjson.DepthError
	if _, err := ReadForm(deep(129)); !errors.As(err, &tooDeep) || tooDeep.Field != "a" {
		t.Errorf("129 deep: %v", err)
	}
	if _, err := ReadForm(strings.Repeat("a[]=&", 25_000)); err != nil {
		t.Errorf("50,000 parts: %v", err)
	}
	if _, err := ReadForm(strings.Repeat("a[]=&", 25_000) + "b="); fault.CodeOf(err) != fault.Invalid ||
		fault.ProblemsOf(err)[0].Pointer != "#" {
		t.Errorf("50,001 parts: %v", err)
	}
}

func FuzzReadForm(f *testing.F) {
	for _, s := range []string{"a=1&b[c]=2&b[d][]=3", "schedule_in[0]=30&schedule_in[1]=s", "a[b=1&=2&&%", "url[]=1&url=2&url[a]=3",
		"%00[%00]=%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, form string) {
		v, err := ReadForm(form)
		if err != nil {
			return
		}
		again, err := rawjson.Read(v)
		if err != nil || string(again) != string(v) {
			t.Fatalf("ReadForm(%q) = %q, which is no compact JSON: %v", form, v, err)
		}
	})
}
