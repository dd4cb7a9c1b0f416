package client

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// filled returns a filter with a value in each field.
func filled[T any]() T {
	var filter T
	v := reflect.ValueOf(&filter).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString("a")
		case int64:
			f.SetInt(7)
		case []string:
			f.Set(reflect.ValueOf([]string{"a"}))
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(1, 0)))
		}
	}
	return filter
}

// Each filter of a list has a field that is sent.
func TestFilters_AreThoseOfTheService(t *testing.T) {
	for _, c := range []struct {
		list   job.Lists
		values url.Values
		more   []string
	}{
		{job.OfJobs, filled[JobFilter]().values(), []string{"q"}},
		{job.OfSchedules, filled[ScheduleFilter]().values(), nil},
		{job.OfLogs, filled[LogFilter]().values(), nil},
	} {
		delete(c.values, "limit")
		want := slices.Sorted(slices.Values(append(job.FilterNames(c.list), c.more...)))
		if got := slices.Sorted(maps.Keys(c.values)); !slices.Equal(got, want) {
			t.Errorf("the filters of list %b send %q, want %q", c.list, got, want)
		}
	}
}
