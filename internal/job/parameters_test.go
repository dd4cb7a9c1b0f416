package job

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestFilters_ReadsEachParameter(t *testing.T) {
	values, err := url.ParseQuery("state=scheduled&schedule_id=0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b&idempotency_key=k&tag=a&tag=b:c&tag=a" +
		"&host=EXAMPLE.com&name=Nightly+report&since=2026-01-01&until=1767312000")
	if err != nil {
		t.Fatal(err)
	}
	p := &Parameters{Values: values}
	q := p.Filters(OfJobs).Query
	if len(p.Problems) != 0 {
		t.Fatalf("problems: %v", p.Problems)
	}
	if !slices.Equal(q.States, []State{Available, Retryable}) || q.Schedule.String() != "0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b" ||
		*q.Key != "k" ||
		!slices.Equal(q.Tags, []string{"a", "b:c"}) || q.Host != "example.com" || *q.Name != "Nightly report" ||
		!q.Since.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || !q.Until.Equal(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("read %+v", q)
	}
}

func TestFilters_RefusesWhatIsMalformed(t *testing.T) {
	for query, want := range map[string][]string{
		"tag=": {"tag"}, "tag=a&tag=B": {"tag"}, "tag=" + strings.Repeat("x", 65): {"tag"}, "tag=%C3%A9": {"tag"},
		"tag=1&tag=2&tag=3&tag=4&tag=5&tag=6&tag=7&tag=8&tag=9&tag=10&tag=11": {"tag"},
		"host=": {"host"}, "host=a:80": {"host"}, "host=a/b": {"host"}, "host=a%00": {"host"}, "host=u@a": {"host"}, "host=a?b": {"host"},
		"host=a&host=b": {"host"},
		"name=":         {"name"}, "name=a%00": {"name"}, "name=" + strings.Repeat("x", 256): {"name"}, "since=x": {"since"},
		"until=":                            {"until"},
		"since=2026-01-02&until=2026-01-01": {"until"},
		"state=pending&schedule_id=1&idempotency_key=": {"idempotency_key", "schedule_id", "state"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		p := &Parameters{Values: values}
		p.Filters(OfJobs)
		var got []string
		for _, problem := range p.Problems {
			got = append(got, problem.Parameter)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: problems of %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"host=2001:db8::1", "host=a_b.example", "since=2026-01-01&until=2026-01-01", "tag=0",
		"tag=" + strings.Repeat("x", 64)} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		p := &Parameters{Values: values}
		if p.Filters(OfJobs); len(p.Problems) != 0 {
			t.Errorf("%s: %v", query, p.Problems)
		}
	}
}

func TestLimitKey(t *testing.T) {
	for key, want := range map[string]bool{
		"stripe": true, "A.b_c:d": true, "": false, "a b": false,
		"host:": false, "host:.": false, "host:a..b": false, "host:a b": false, "host:a/b": false, "host:127.0.0.1": true,
		"host:a_b.example":     true,
		"host:example.com:443": false, "host:[::1]:443": false, "host:[::1": false, "host:::1]": false, "host:[a]": false,
		"host:" + strings.Repeat("a", 253): true, "host:" + strings.Repeat("a", 254): false,
	} {
		if got, valid := LimitKey(key); valid != want || valid && got != key {
			t.Errorf("the key %q is read as %q, %t", key, got, valid)
		}
	}
}

func FuzzFilters(f *testing.F) {
	for _, s := range []string{"tag=a&tag=b", "host=a:80", "host=[::1]", "since=2026-01-01&until=1", "name=%00", "state=scheduled",
		"host=%25zone"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		p := &Parameters{Values: values}
		q := p.Filters(OfJobs).Query
		if len(p.Problems) > 0 {
			return
		}
		if len(q.Tags) > MaxTags || slices.ContainsFunc(q.Tags, func(tag string) bool { return !IsTag(tag) }) ||
			strings.ToLower(q.Host) != q.Host {
			t.Fatalf("%q reads as %+v", query, q)
		}
	})
}

func TestPath_KnownFieldsOnlyAreFast(t *testing.T) {
	text := "x"
	for _, c := range []struct {
		query    Query
		path     Path
		combined bool
	}{
		{Query{}, ByNumber, false},
		{Query{States: []State{Available}, ListQuery: ListQuery{Limit: 5, After: 7}}, ByNumber, false},
		{Query{ListQuery: ListQuery{Order: Order{Field: "job_id", Desc: true}}}, ByNumber, false},
		{Query{ListQuery: ListQuery{Order: Order{Field: "state"}}}, ByState, false},
		{Query{ListQuery: ListQuery{Order: Order{Field: "id"}}}, ByFilter, false},
		{Query{Tags: []string{"a"}}, ByFilter, false},
		{Query{Tags: []string{"a", "b"}}, ByFilter, true},
		{Query{Tags: []string{"a"}, States: []State{Available}}, ByFilter, true},
		{Query{Host: "a"}, ByFilter, false},
		{Query{Name: &text}, ByFilter, false},
		{Query{Name: &text, Key: &text}, ByFilter, true},
		{Query{Since: time.Unix(1, 0)}, ByFilter, true},
		{Query{Until: time.Unix(1, 0)}, ByFilter, true},
	} {
		if path, combined := c.query.Path(), c.query.Combined(); path != c.path || combined != c.combined {
			t.Errorf("%+v: path %d, combined %v, want %d, %v", c.query, path, combined, c.path, c.combined)
		}
	}
}

func TestLabelsOf_ReadsHostAndTags(t *testing.T) {
	for args, want := range map[string]Labels{
		`{"url":"https://Example.COM:8443/x","tags":["a","b:c"]}`: {Host: "example.com", Tags: []string{"a", "b:c"}},
		`{"url":"https://[2001:DB8::1]/","method":"get"}`:         {Host: "2001:db8::1"},
		`{"url":"https://example.com?x"}`:                         {Host: "example.com"},
		`{}`:                                                      {},
	} {
		if got := LabelsOf([]byte(args)); got.Host != want.Host || !slices.Equal(got.Tags, want.Tags) {
			t.Errorf("%s: %+v, want %+v", args, got, want)
		}
	}
}

func TestFilters_NameHostsAsRecordsDo(t *testing.T) {
	for text, want := range map[string]string{
		"Example.COM": "example.com", "example.com.": "example.com", "BÜCHER.example": "xn--bcher-kva.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "2001:DB8::1": "2001:db8::1", "[2001:DB8::1]": "2001:db8::1",
	} {
		p := Parameters{Values: url.Values{"host": {text}}}
		if got := p.Filters(OfJobs).Query.Host; got != want || len(p.Problems) > 0 {
			t.Errorf("the filter %q selects %q, %v, want %q", text, got, p.Problems, want)
		}
		if key, valid := LimitKey("host:" + text); key != "host:"+want || !valid {
			t.Errorf("the key host:%s is read as %q, %t, want host:%s", text, key, valid, want)
		}
		if named := LimitsNamed(rawjson.Value(`{"limits":["host:` + text + `"]}`)); !slices.Equal(named, []string{"host:" + want}) {
			t.Errorf("naming host:%s names %q", text, named)
		}
		if args := `{"url":"https://` + text + `:8443/"}`; !strings.Contains(text, ":") && LabelsOf(rawjson.Value(args)).Host != want {
			t.Errorf("%s has the host %q, want %q", args, LabelsOf(rawjson.Value(args)).Host, want)
		}
	}
}
