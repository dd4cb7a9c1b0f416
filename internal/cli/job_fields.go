package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// newFieldFlags returns the flags that the table of a job's fields describes for
// fields that can be given in one of the places: a struct with a member for each.
func newFieldFlags(in job.Places) kong.Plugins {
	var members []reflect.StructField
	for _, f := range job.Fields() {
		if f.Flag.Help == "" || f.In&in == 0 {
			continue
		}
		of := reflect.TypeFor[string]()
		if f.Kind == job.BooleanValue {
			of = reflect.TypeFor[*bool]()
		}
		tag := fmt.Sprintf(`name:%q placeholder:%q help:%q`, strings.ReplaceAll(f.Name, "_", "-"), f.Flag.Placeholder, f.Flag.Help)
		members = append(members, reflect.StructField{Name: "F_" + f.Name, Type: of, Tag: reflect.StructTag(tag)})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(members)).Interface()}
}

// fieldMembers returns the members of a create request for the flags that are set.
func fieldMembers(flags kong.Plugins) []rawjson.Member {
	var members []rawjson.Member
	for _, group := range flags {
		values := reflect.ValueOf(group).Elem()
		for i := range values.NumField() {
			f := job.FieldNamed(strings.TrimPrefix(values.Type().Field(i).Name, "F_"))
			if v := fieldValue(f, values.Field(i).Interface()); v != nil {
				members = append(members, rawjson.Member{Name: f.Name, Value: v})
			}
		}
	}
	return members
}

// fieldValue returns the value of a flag, or nil if it is not set.
func fieldValue(f *job.Field, flag any) rawjson.Value {
	switch flag := flag.(type) {
	case string:
		return typedValue(f, flag)
	case *bool:
		if flag != nil {
			return f.Value(fmt.Sprint(*flag))
		}
	}
	return nil
}

// typedValue returns the value that typed text stands for in a field, or nil if it is
// empty. Durations may be written like 5m too.
func typedValue(f *job.Field, text string) rawjson.Value {
	if form := job.SuggestDuration(text); form != "" && f.Kind == job.DurationValue {
		return rawjson.Value(form)
	}
	return f.Value(text)
}
