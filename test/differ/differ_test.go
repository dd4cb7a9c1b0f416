package differ

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// defaultRuns is how many sequences are sent, unless the environment says.
const defaultRuns = 12

// shrinkFor is how long a shorter sequence is looked for.
const shrinkFor = 2 * time.Minute

func TestStores_BehaveTheSame(t *testing.T) {
	first, runs := number(t, "FIRST", 1), number(t, "RUNS", defaultRuns)
	seed := number(t, "SEED", 0)
	if seed > 0 {
		first, runs = seed, 1
	}
	ss := sides{
		startSide(t, "SQLite", "sqlite:"+filepath.Join(t.TempDir(), "punctual.db")),
		startSide(t, "PostgreSQL", pgtest.URL(t)),
	}
	defer func() { t.Logf("the calls beside reads:\n%s", summary(ss[0].statuses)) }()
	for n := range runs {
		sequence := generate(uint64(first + n))
		if seed > 0 {
			t.Logf("the sequence of seed %d:\n%s", seed, show(sequence))
		}
		found, err := ss.run(t.Context(), sequence)
		if err != nil {
			t.Fatal(err)
		}
		if found == nil {
			continue
		}
		shorter, found, err := ss.shrink(t.Context(), sequence, found, time.Now().Add(shrinkFor))
		if err != nil {
			t.Error(err)
		}
		t.Fatalf("the stores differ with PUNCTUAL_DIFFER_SEED=%d at call %d:\n%s\n%s", first+n, found.call.number, show(shorter),
			found.text)
	}
}

// summary shows what was called, and how often with which status.
func summary(statuses map[string]int) string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(statuses)) {
		fmt.Fprintf(&b, "%4d %s\n", statuses[what], what)
	}
	return b.String()
}

func show(sequence []call) string {
	var b strings.Builder
	for i := range sequence {
		b.WriteString(sequence[i].String() + "\n")
	}
	return b.String()
}

// number returns a number from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv("PUNCTUAL_DIFFER_" + name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PUNCTUAL_DIFFER_%s must be a whole number of 1 or more", name)
	}
	return n
}
