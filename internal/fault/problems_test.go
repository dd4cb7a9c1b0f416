package fault_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestTheFirst100ProblemsAreListedAndTheRestCounted(t *testing.T) {
	for n, end := range map[int]string{
		0: "", 1: "a1 is wrong", 100: "a100 is wrong", 101: "a100 is wrong; and 1 more problem",
		250: "a100 is wrong; and 150 more problems",
	} {
		var p fault.Problems
		for i := range n {
			p.Add(fault.Problem{Pointer: "#/a" + strconv.Itoa(i+1), Detail: "is wrong"})
		}
		err := p.Err()
		if n == 0 {
			if err != nil {
				t.Errorf("without problems: %v", err)
			}
			continue
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Problems) != min(n, 100) || f.More != max(0, n-100) || p.Len() != n ||
			p.Full() != (n >= 100) {
			t.Fatalf("%d problems: %+v", n, f)
		}
		if !strings.HasSuffix(f.Message, end) {
			t.Errorf("%d problems: the sentence ends in %q, want %q", n, f.Message[max(0, len(f.Message)-60):], end)
		}
	}
}

func TestALongDetailIsCutBetweenCharacters(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 501), strings.Repeat("é", 300), strings.Repeat("🦊", 1000)} {
		got := fault.ProblemsOf(fault.Refuse([]fault.Problem{{Parameter: text, Detail: text}}))[0]
		for _, cut := range []string{got.Detail, got.Parameter} {
			if len(cut) > 500 || len(cut) < 490 || !utf8.ValidString(cut) || !strings.HasSuffix(cut, "…") {
				t.Errorf("%.8s… is cut to %d bytes: %.20q", text, len(cut), cut)
			}
		}
	}
	if got := fault.ProblemsOf(fault.Refuse([]fault.Problem{{Pointer: "#/a",
		Detail: strings.Repeat("x", 500)}}))[0].Detail; got != strings.Repeat("x", 500) {
		t.Errorf("500 bytes became %d", len(got))
	}
}
