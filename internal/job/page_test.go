package job

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// numbered returns jobs with descending numbers and args of the given sizes.
func numbered(sizes ...int) []*Job {
	jobs := make([]*Job, len(sizes))
	for i, size := range sizes {
		jobs[i] = &Job{Number: int64(len(sizes) - i), Args: make([]byte, size)}
	}
	return jobs
}

func TestReadPage_ReturnsTheQueryOfTheNextPage(t *testing.T) {
	for _, x := range []struct {
		name   string
		q      ListQuery
		stored []*Job
		want   []int64
		next   *ListQuery
	}{
		{"an empty list", ListQuery{Limit: 2}, nil, nil, nil},
		{"exactly one page", ListQuery{Limit: 2}, numbered(1, 1), []int64{2, 1}, nil},
		{"one record more", ListQuery{Limit: 2}, numbered(1, 1, 1), []int64{3, 2}, &ListQuery{Limit: 2, After: 2}},
		{"an offset ends with the first page", ListQuery{Limit: 2, Offset: 7}, numbered(1, 1, 1), []int64{3, 2},
			&ListQuery{Limit: 2, After: 2}},
		{
			"in another order", ListQuery{Limit: 2, Offset: 4, Order: Order{Field: "state"}}, numbered(1, 1, 1), []int64{3, 2},
			&ListQuery{Limit: 2, Offset: 6, Order: Order{Field: "state"}},
		},
		{"over the budget", ListQuery{Limit: 9, Bytes: 100}, numbered(60, 30, 20), []int64{3, 2},
			&ListQuery{Limit: 9, Bytes: 100, After: 2}},
		{"a first record over the budget", ListQuery{Limit: 9, Bytes: 100}, numbered(200), []int64{1},
			&ListQuery{Limit: 9, Bytes: 100, After: 1}},
	} {
		page, err := ReadPage(x.q, Size, (*Job).Position, func(q ListQuery) ([]*Job, error) {
			if q.Limit != x.q.Limit+1 {
				t.Errorf("%s: read with the limit %d", x.name, q.Limit)
			}
			return x.stored[:min(len(x.stored), q.Limit)], nil
		})
		var got []int64
		for _, j := range page.Items {
			got = append(got, j.Number)
		}
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, %v", x.name, got, err)
		}
		if (page.Next == nil) != (x.next == nil) || page.Next != nil && *page.Next != *x.next {
			t.Errorf("%s: next is %+v, want %+v", x.name, page.Next, x.next)
		}
	}
}

func TestReadPage_ReturnsTheErrorOfTheRead(t *testing.T) {
	broken := errors.New("broken")
	page, err := ReadPage(ListQuery{Limit: 2}, Size, (*Job).Position, func(ListQuery) ([]*Job, error) { return numbered(1), broken })
	if !errors.Is(err, broken) || page.Items != nil || page.Next != nil {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestParseRef_AcceptsOnlyCanonicalIDs(t *testing.T) {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	for text, want := range map[string]Ref{
		"1": {Number: 1}, "9223372036854775807": {Number: 9223372036854775807}, id.String(): {UUID: id},
	} {
		if got, ok := ParseRef(text); !ok || got != want {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "+1", "01", " 1", "1.0", "9223372036854775808", uuid.Nil.String(), "01890A5D-AC96-774B-BCCE-B302099A805",
		"{" + id.String() + "}",
	} {
		if got, ok := ParseRef(text); ok {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}
