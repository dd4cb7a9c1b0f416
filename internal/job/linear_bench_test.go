package job

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// sizes are n, 2n and 4n: what is measured by them must cost once, twice and
// four times as much.
var sizes = []int{4 << 10, 8 << 10, 16 << 10}

func bySize(b *testing.B, measure func(b *testing.B, n int)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("%dKi", n>>10), func(b *testing.B) { measure(b, n) })
	}
}

// distinct returns n members with values.
func distinct(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%s`, i, value)
	}
	return "{" + b.String()[1:] + "}"
}

// BenchmarkLinearCreate checks creates of n headers, query values or unknown
// fields, and of a body 128 deep.
func BenchmarkLinearCreate(b *testing.B) {
	for name, make := range map[string]func(n int) string{
		"headers": func(n int) string { return `{"url":"https://x.example","headers":{"x":` + list(n, `{}`) + `}}` },
		"query":   func(n int) string { return `{"url":"https://x.example","query":{"a":` + list(n, `[]`) + `}}` },
		"unknown": func(n int) string { return distinct(n, "1") },
		"deep": func(n int) string {
			return `{"url":"https://x.example","body":` + strings.Repeat("[", 126) + list(n, `"$job"`) + strings.Repeat("]", 126) + `}`
		},
	} {
		b.Run(name, func(b *testing.B) {
			bySize(b, func(b *testing.B, n int) {
				text := []byte(make(n))
				for b.Loop() {
					v, err := rawjson.Read(text)
					if err != nil {
						b.Fatal(err)
					}
					_, _ = Read(v, ReadOptions{Now: noon})
				}
			})
		})
	}
}

// BenchmarkLinearRender renders n dynamic fields in a body of little depth, one
// of much depth, a form and a query, within the budget and beyond it.
func BenchmarkLinearRender(b *testing.B) {
	const form = `"headers":{"Content-Type":"application/x-www-form-urlencoded"},`
	previous := `{"items":` + list(16<<10, `{"id":1}`) + `}`
	for name, make := range map[string]func(n int) string{
		"paths": func(n int) string { return `"body":` + list(n, `"$previous.items.9.id"`) },
		"deep": func(n int) string {
			return `"body":` + strings.Repeat("[", 126) + list(n, `"$job.id"`) + strings.Repeat("]", 126)
		},
		"form": func(n int) string { return form + `"body":{"a":` + list(n, `"$job.id"`) + `}` },
		"nested": func(n int) string {
			return form + `"body":` + strings.Repeat(`{"a":`, 20) + distinct(n, "1") + strings.Repeat("}", 20)
		},
		"query":  func(n int) string { return `"query":{"a":` + list(n/8, `"$job.id"`) + `}` },
		"beyond": func(n int) string { return `"body":` + list(n, `"$previous"`) },
	} {
		b.Run(name, func(b *testing.B) {
			bySize(b, func(b *testing.B, n int) {
				spec := ReadSpec(rawjson.Value(`{"url":"https://x",` + make(n) + `}`))
				d := NewDynamic(7, &Schedule{Previous: rawjson.Value(previous)})
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Render(&spec, d); (err != nil) != (name == "beyond") {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkLinearMerge merges n keys into a state of other n keys.
func BenchmarkLinearMerge(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			state, set := rawjson.Value(distinct(n, "1")), rawjson.Value(strings.ReplaceAll(distinct(n, "2"), "k", "m"))
			for b.Loop() {
				MergeState(state, set)
			}
		})
	}
}
