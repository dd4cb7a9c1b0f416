package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// interrupter is a person who stops the demo when they see a word.
type interrupter struct {
	seen      bytes.Buffer
	word      string
	interrupt context.CancelFunc
}

func (i *interrupter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), i.word) {
		i.interrupt()
	}
	return i.seen.Write(b)
}

func TestAnInterruptedDemoLeavesNothingBehind(t *testing.T) {
	for name, word := range map[string]string{"at the start": "punctual demo", "in the middle": "completed"} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			t.Setenv("TMPDIR", directory)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &interrupter{word: word, interrupt: cancel}
			err := Run(ctx, Config{Out: out, ErrOut: out, Zone: time.UTC, Version: "test", Command: "punctual"})
			if err == nil || err.Error() != "the demo was interrupted; the service has stopped and its files are gone" {
				t.Errorf("Run: %v\n%s", err, &out.seen)
			}
			if strings.Contains(out.seen.String(), "Summary") {
				t.Errorf("a summary of half a demo:\n%s", &out.seen)
			}
			if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestWithoutAPlaceForFilesTheDemoSaysWhatItNeeds(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	var out bytes.Buffer
	err := Run(t.Context(), Config{Out: &out, ErrOut: &out, Zone: time.UTC})
	if err == nil || !strings.Contains(err.Error(), "let TMPDIR name a directory that can be written to") {
		t.Errorf("Run: %v", err)
	}
}
