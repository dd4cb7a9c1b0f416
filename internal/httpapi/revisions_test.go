package httpapi

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/punctual-dev/punctual/internal/service"
)

func TestIfMatch_ReadsLists(t *testing.T) {
	for text, want := range map[string]service.Match{
		`"1"`:             {Given: true, Revisions: []int64{1}},
		` "7" , "3" `:     {Given: true, Revisions: []int64{7, 3}},
		`"4","x","a,b"`:   {Given: true, Revisions: []int64{4}},
		`"a,"1`:           {Given: true},
		`*`:               {Given: true, Any: true},
		`W/"1", "2"`:      {Given: true, Revisions: []int64{2}},
		`1`:               {Given: true},
		`"01", "-1", "0"`: {Given: true},
		``:                {Given: true},
		`"1`:              {Given: true},
	} {
		if got := conditions(http.Header{"If-Match": {text}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	if got := conditions(http.Header{}); got.Given {
		t.Errorf("no header: %+v", got)
	}
	if got := conditions(http.Header{"If-Match": {`"1"`, `"2"`}}); !reflect.DeepEqual(got.Revisions, []int64{1, 2}) {
		t.Errorf("two headers: %+v", got)
	}
}

func FuzzIfMatch(f *testing.F) {
	f.Add(`"1", W/"2", *`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range conditions(http.Header{"If-Match": {text}}).Revisions {
			if n < 1 {
				t.Fatalf("%q has revision %d", text, n)
			}
		}
	})
}
