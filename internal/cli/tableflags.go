package cli

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/alecthomas/kong"
)

// tableFlag is a flag that a table describes. It has a value of the type T of its group,
// or a list of them if it may be repeated.
type tableFlag struct {
	key               string // of its entry in the table
	name              string // without hyphens in front
	placeholder, help string
	repeats           bool
}

// tableFlags returns flags for kong, which reads them from a struct: it has a member for
// each. Values returns what they were given.
func tableFlags[T ~string](flags []tableFlag) kong.Plugins {
	members := make([]reflect.StructField, 0, len(flags))
	for _, f := range flags {
		of, sep := reflect.TypeFor[T](), ""
		if f.repeats {
			of, sep = reflect.TypeFor[[]T](), ` sep:"none"`
		}
		tag := fmt.Sprintf(`name:%q placeholder:%q help:%q%s`, f.name, f.placeholder, f.help, sep)
		members = append(members, reflect.StructField{Name: "F_" + f.key, Type: of, Tag: reflect.StructTag(tag)})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(members)).Interface()}
}

// tableValues returns the values that were given, each with the key of its flag, in the
// order of the flags.
func tableValues[T ~string](flags kong.Plugins) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, group := range flags {
			members := reflect.ValueOf(group).Elem()
			for i := range members.NumField() {
				key := members.Type().Field(i).Name[len("F_"):]
				var given []T
				switch v := members.Field(i).Interface().(type) {
				case T:
					if v != "" {
						given = []T{v}
					}
				case []T:
					given = v
				}
				for _, v := range given {
					if !yield(key, string(v)) {
						return
					}
				}
			}
		}
	}
}
