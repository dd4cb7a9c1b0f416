package retry

import (
	"strings"
	"testing"
	"time"
)

func TestExpression(t *testing.T) {
	for text, want := range map[string][3]time.Duration{
		"1000":                                 {time.Second, time.Second, time.Second},
		"1000 * (1 + retried)":                 {time.Second, 2 * time.Second, 3 * time.Second},
		"pow(2, retried) * 1000":               {time.Second, 2 * time.Second, 4 * time.Second},
		"max(1000, pow(2, retried) * 600)":     {time.Second, 1200 * time.Millisecond, 2400 * time.Millisecond},
		"min(1500, 1000*(retried+1))":          {time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond},
		"round(exp(0)) * abs(-7) + floor(1.9)": {8 * time.Millisecond, 8 * time.Millisecond, 8 * time.Millisecond},
		"sqrt(16) + ceil(0.1)":                 {5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
		"7/2":                                  {3 * time.Millisecond, 3 * time.Millisecond, 3 * time.Millisecond},
		"-5":                                   {0, 0, 0},
		"9223372036854775807 * 9":              {24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
		"1/0":                                  {24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
		"pow(10, 400)":                         {24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
	} {
		e, err := ParseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, w := range want {
			if got, ok := e.Delay(i + 1); got != w || !ok {
				t.Errorf("%s after attempt %d = %v, %t, want %v", text, i+1, got, ok, w)
			}
		}
	}
	if e, err := ParseExpression("0/0"); err != nil {
		t.Error(err)
	} else if _, ok := e.Delay(1); ok {
		t.Error("0/0 is a number")
	}
}

func TestExpression_RefusesWhatIsNoArithmetic(t *testing.T) {
	for _, text := range []string{
		"", "abc", "retry", "1..1000000000", "[1,2]", "{a: 1}", "map(1..9, #)", "sum(1..1000)", "'x'", "true ? 1 : 2", "len('x')",
		"now()", "pow", "pow(1)", "pow(1,2,3)",
		"retried.x", "$env", "let x = 1; x", "1; 2", "1 > 2",
		"repeat('a', 1000000)", "nil", "retried ?? 2", "f(1)", "pow(2, retried))",
		strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100) + "+" + strings.Repeat("1+", 100) + "1", strings.Repeat("1+", 120) + "1",
	} {
		if _, err := ParseExpression(text); err == nil {
			t.Errorf("%.60q was accepted", text)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"1000", "pow(2, retried) * 1000", "max(1, 2", "((((", "1..9", "0x10", "1e309", "-retried"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpression(text)
		if err != nil {
			return
		}
		for attempt := range 21 {
			if wait, ok := e.Delay(attempt); ok && (wait < 0 || wait > LongestDelay) {
				t.Errorf("%q after attempt %d = %v", text, attempt, wait)
			}
		}
	})
}
