package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

func values(t *testing.T, query string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReadOrder(t *testing.T) {
	for query, want := range map[string]job.Order{
		"":                                {},
		"order_by=id":                     {Field: "id"},
		"order_by=id,asc":                 {Field: "id"},
		"order_by=id,desc":                {Field: "id", Desc: true},
		"order_by=id&order_by=desc":       {Field: "id", Desc: true},
		"order_by[]=id&order_by[]=desc":   {Field: "id", Desc: true},
		"order_by[0]=id&order_by[1]=desc": {Field: "id", Desc: true},
		"order_by[1]=desc&order_by[0]=id": {Field: "id", Desc: true},
		`order_by=["id","desc"]`:          {Field: "id", Desc: true},
		`order_by=%5B%22id%22%5D&other=1`: {Field: "id"},
	} {
		if got, why := readOrder(values(t, query), jobOrders); got != want || why != "" {
			t.Errorf("%s: %+v, %q, want %+v", query, got, why, want)
		}
	}
	for _, query := range []string{
		"order_by=", "order_by=nope", "order_by=id,sideways", "order_by=id,asc,id", "order_by=id&order_by[]=asc", "order_by[1]=asc",
		"order_by[0]=id&order_by[0]=id",
		`order_by=["id"`, `order_by=[]`, `order_by=["id",1]`, `order_by={"id":1}`, "order_by[]=", "order_by=ID",
	} {
		if got, why := readOrder(values(t, query), jobOrders); why == "" {
			t.Errorf("%s: %+v, want a refusal", query, got)
		}
	}
}

func FuzzReadOrder(f *testing.F) {
	for _, s := range []string{"order_by=id,asc", `order_by=["id","desc"]`, "order_by[]=a&order_by[]=b", "order_by[0]=id&order_by[1]=asc",
		"order_by=%5B1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		order, why := readOrder(v, jobOrders)
		if why != "" && order != (job.Order{}) {
			t.Fatalf("%q is refused (%s), yet returns %+v", query, why, order)
		}
		if order.Field != "" && !strings.Contains(strings.Join(jobOrders, " "), order.Field) {
			t.Fatalf("%q orders by %q", query, order.Field)
		}
	})
}

var someone = job.Owner{ID: uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b"), Number: 1}

func TestOpenCursor_AcceptsOnlyItsOwnListAndAccount(t *testing.T) {
	other := job.Owner{ID: uuid.New(), Number: 2}
	for _, p := range []position{{number: 1}, {number: 1 << 60}, {id: uuid.New()}} {
		text := sealCursor(p, "jobs", someone)
		if got, ok := openCursor(text, "jobs", someone); !ok || got != p {
			t.Errorf("%+v opens as %+v, %v", p, got, ok)
		}
		for name, open := range map[string]func() (position, bool){
			"another list":    func() (position, bool) { return openCursor(text, "logs", someone) },
			"another account": func() (position, bool) { return openCursor(text, "jobs", other) },
			"a changed one":   func() (position, bool) { return openCursor(flip(text), "jobs", someone) },
			"a shorter one":   func() (position, bool) { return openCursor(text[:8], "jobs", someone) },
			"a longer one":    func() (position, bool) { return openCursor(text+"AAAA", "jobs", someone) },
		} {
			if got, ok := open(); ok {
				t.Errorf("%s opens as %+v", name, got)
			}
		}
	}
}

// flip changes the first character.
func flip(text string) string {
	if text[0] == 'A' {
		return "B" + text[1:]
	}
	return "A" + text[1:]
}

func FuzzOpenCursor(f *testing.F) {
	f.Add(sealCursor(position{number: 5}, "jobs", someone))
	f.Add(sealCursor(position{id: uuid.New()}, "jobs", someone))
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := openCursor(text, "jobs", someone); ok && sealCursor(p, "jobs", someone) != text {
			t.Fatalf("%q opens as %+v, which is sealed as something else", text, p)
		}
	})
}

func TestHeaderKey(t *testing.T) {
	for given, want := range map[string]string{"plain": "plain", `"quo ted"`: "quo ted", `"a\"b\\c"`: `a"b\c`, `"`: `"`, "": "",
		`"open`: `"open`} {
		if got := headerKey(http.Header{"Idempotency-Key": {given}}); got == nil || *got != want {
			t.Errorf("headerKey(%q) = %v, want %q", given, got, want)
		}
	}
	if got := headerKey(http.Header{}); got != nil {
		t.Errorf("no header: %q", *got)
	}
}

func TestParseJobID(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "9223372036854775807": true, someone.ID.String(): true, "0": false, "-1": false,
		"01": false, "+1": false,
		"9223372036854775808": false, "": false, "1.0": false, strings.ToUpper(someone.ID.String()): true,
		"00000000-0000-0000-0000-000000000000": false, "{" + someone.ID.String() + "}": false} {
		if _, got := job.ParseRef(text); got != ok {
			t.Errorf("job.ParseRef(%q) = %v, want %v", text, got, ok)
		}
	}
}

func TestLimit_AcceptsWholeNumbersInRange(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "100": true, "007": true, "0": false, "101": false, "": false, "-1": false,
		"+1": false, "1.5": false, "1e1": false, "0x1": false, " 1": false, "99999999999999999999": false} {
		q := &query{job.Parameters{Values: url.Values{"limit": {text}}}}
		q.whole("limit", 1, 100, 10)
		if got := len(q.Problems) == 0; got != ok {
			t.Errorf("limit=%s: accepted %v, want %v", text, got, ok)
		}
	}
}
