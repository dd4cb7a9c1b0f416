package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// pointersOf reads a create request with these members and returns the
// pointers of its problems, separated by spaces.
func pointersOf(t *testing.T, members string) string {
	t.Helper()
	body, err := rawjson.Read([]byte(`{"url":"https://x.example",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Read(body, ReadOptions{Now: noon})
	var pointers []string
	for _, p := range fault.ProblemsOf(err) {
		pointers = append(pointers, p.Pointer)
	}
	return strings.Join(pointers, " ")
}

func TestRead_OutcomeOptions(t *testing.T) {
	for members, want := range map[string]string{
		`"success":["2xx",404,"3xx"]`:                        "",
		`"success":[100,599,"1xx","5xx"]`:                    "",
		`"success":null`:                                     "",
		`"success":[]`:                                       "#/success",
		`"success":200`:                                      "#/success",
		`"success":"2xx"`:                                    "#/success",
		`"success":{"2xx":true}`:                             "#/success",
		`"success":[200,"6xx","abc",99,600,200.5,true]`:      "#/success/1 #/success/2 #/success/3 #/success/4 #/success/5 #/success/6",
		`"success":["200","2XX","2xxx","",2e2,-20,null,[]]`:  "#/success/0 #/success/1 #/success/2 #/success/3 #/success/4 #/success/5 #/success/6 #/success/7",
		`"success":[` + strings.Repeat("200,", 100) + `200]`: "#/success",

		`"no_retry":["4xx",501,"tls","timeout","dns","status"]`:                                    "",
		`"no_retry":["secret","answer","abandoned","expired","cancelled","interrupted","blocked"]`: "",
		`"no_retry":[]`: "",
		`"no_retry":["4xx","nonsense",1000,"","4xx "]`: "#/no_retry/1 #/no_retry/2 #/no_retry/3 #/no_retry/4",
		`"no_retry":"4xx"`: "#/no_retry",
		`"no_retry":404`:   "#/no_retry",

		`"backoff":[1,[1,"minute"],300,[24,"hours"],1.5]`: "",
		`"backoff":[]`: "#/backoff",
		`"backoff":[` + strings.Repeat("5,", 20) + `5]`: "#/backoff",
		`"backoff":[10,0.5,[25,"hours"],86401]`:         "#/backoff/1 #/backoff/2 #/backoff/3",
		`"backoff":[[1,"month"]]`:                       "#/backoff/0/1",
		`"backoff":[-1,"10",true,[1]]`:                  "#/backoff/0 #/backoff/1 #/backoff/2 #/backoff/3",
		`"backoff":10`:                                  "#/backoff",
		`"backoff":{"first":1}`:                         "#/backoff",
	} {
		if got := pointersOf(t, members); got != want {
			t.Errorf("%.60s: problems at %q, want %q", members, got, want)
		}
	}
}

func TestReadSpec_OutcomeOptions(t *testing.T) {
	s := ReadSpec(rawjson.Value(`{"url":"https://x","success":[200,"3xx",404],"no_retry":["4xx",501,"tls"],"backoff":[10,[1,"minute"],1.5]}`))
	for status, want := range map[int]bool{200: true, 201: false, 299: false, 300: true, 399: true, 400: false, 404: true, 0: false} {
		if got := s.Success.Contains(status); got != want {
			t.Errorf("success contains %d: %v", status, got)
		}
	}
	for _, x := range []struct {
		outcome Outcome
		want    bool
	}{
		{Outcome{Response: &Response{Status: 499}}, true}, {Outcome{Response: &Response{Status: 501}}, true},
		{Outcome{Response: &Response{Status: 500}}, false}, {Outcome{Failure: &Failure{Kind: KindTLS}}, true},
		{Outcome{Failure: &Failure{Kind: KindDNS}}, false}, {Outcome{}, false},
	} {
		if got := s.NoRetry.Contains(&x.outcome); got != x.want {
			t.Errorf("no_retry contains %+v: %v", x.outcome, got)
		}
	}
	if want := []time.Duration{10 * time.Second, time.Minute, 1500 * time.Millisecond}; !slices.Equal(s.Backoff, want) {
		t.Errorf("backoff %v, want %v", s.Backoff, want)
	}
	plain := ReadSpec(rawjson.Value(`{"url":"https://x"}`))
	if !plain.Success.Contains(204) || plain.Success.Contains(304) || plain.Backoff != nil {
		t.Errorf("the defaults are %+v", plain)
	}
}

func FuzzReadOutcomeOptions(f *testing.F) {
	for _, s := range []string{`[200,"3xx"]`, `["tls",null]`, `[[1,"minute"],1e3]`, `{}`, `[[[]]]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := rawjson.Read([]byte(text))
		if err != nil {
			return
		}
		for _, name := range []string{"success", "no_retry", "backoff"} {
			args := rawjson.Object([]rawjson.Member{{Name: "url", Value: rawjson.Value(`"https://x.example"`)}, {Name: name, Value: v}})
			s := ReadSpec(args) // must not panic, whatever the args
			if _, err := Read(args, ReadOptions{Now: noon}); err != nil || rawjson.IsNull(v) {
				continue
			}
			if n := len(rawjson.Elements(v)); name == "success" && len(s.Success) != n || name == "backoff" && len(s.Backoff) != n ||
				name == "no_retry" && len(s.NoRetry.Statuses)+len(s.NoRetry.Kinds) != n {
				t.Errorf("%s %s was accepted, and read as %v, %v, %v", name, v, s.Success, s.NoRetry, s.Backoff)
			}
		}
	})
}
