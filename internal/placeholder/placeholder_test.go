package placeholder

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse_SplitsValues(t *testing.T) {
	long := strings.Repeat("n", 65)
	for value, want := range map[string][]Part{
		"":                                nil,
		"plain":                           nil,
		"{one} brace":                     nil,
		"{{other.name}}":                  nil,
		"{{secret.a}}":                    {{Secret: "a"}},
		"Bearer {{secret.git-hub_2.x}}!":  {{Text: "Bearer "}, {Secret: "git-hub_2.x"}, {Text: "!"}},
		"{{secret.a}}/{{secret.b}}":       {{Secret: "a"}, {Text: "/"}, {Secret: "b"}},
		"{{{{":                            {{Text: "{{"}},
		"{{{{secret.a}}":                  {{Text: "{{secret.a}}"}},
		"{{{{{{secret.a}}":                {{Text: "{{"}, {Secret: "a"}},
		"{{{secret.a}}}":                  {{Text: "{"}, {Secret: "a"}, {Text: "}"}},
		"{{x}} {{secret.a}}":              {{Text: "{{x}} "}, {Secret: "a"}},
		"{{secret." + long[:64] + "}}":    {{Secret: long[:64]}},
		"{{{{{{{{":                        {{Text: "{{{{"}},
		"{{secret.a}} {{{{secret.b}} {{x": {{Secret: "a"}, {Text: " {{secret.b}} {{x"}},
	} {
		got, ok := Parse(value)
		if !reflect.DeepEqual(got, want) || !ok {
			t.Errorf("Parse(%q) = %v, %v; want %v", value, got, ok, want)
		}
	}
}

func TestParse_ReportsMalformed(t *testing.T) {
	for _, value := range []string{
		"{{secret.}}", "{{ secret.a }}", "{{secret.a", "{{Secret.a}}", "{{secret.a b}}", "{{secret .a}}", "{{secret.-a}}",
		"{{secret.ä}}", "{{secret." + strings.Repeat("n", 65) + "}}", "{{secret.a}} {{secret.?}}",
	} {
		if _, ok := Parse(value); ok {
			t.Errorf("Parse(%q) is well formed", value)
		}
	}
	for _, value := range []string{"{{secrets}}", "{{secret}}", "{{ x }}", "{{{{secret.?}}", "{secret.a}"} {
		if _, ok := Parse(value); !ok {
			t.Errorf("Parse(%q) is malformed", value)
		}
	}
}

// FuzzParse verifies that parts written again are read as the same parts, and
// that only names and doubled braces change a text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{{secret.a}}", "a{{{{b", "{{{secret.a}}}", "{{ secret.a }}", "{{{{{{{{secret.x}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		parts, _ := Parse(value)
		if parts == nil {
			return
		}
		var again strings.Builder
		for _, p := range parts {
			switch {
			case p.Secret != "":
				if !IsName(p.Secret) || p.Text != "" {
					t.Fatalf("part %+v of %q", p, value)
				}
				again.WriteString("{{secret." + p.Secret + "}}")
			case p.Text == "":
				t.Fatalf("an empty part of %q", value)
			default:
				again.WriteString(strings.ReplaceAll(p.Text, "{{", "{{{{"))
			}
		}
		// A brace before a placeholder can't be written in another way.
		if strings.Contains(again.String(), "{{{{{") || strings.Contains(again.String(), "{{{s") {
			return
		}
		if second, _ := Parse(again.String()); !reflect.DeepEqual(second, parts) {
			t.Errorf("%q is %v; written again, %q is %v", value, parts, again.String(), second)
		}
	})
}
