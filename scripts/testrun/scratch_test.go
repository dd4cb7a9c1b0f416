package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestScratch_RemovesWhatKilledRunsHaveLeftAndNothingElse(t *testing.T) {
	parent := t.TempDir()
	running := &scratch{}
	if err := running.inMemory(parent); err != nil {
		t.Skip("programs can't be executed here:", err)
	}
	killed, beginning := filepath.Join(parent, "pt.killed"), filepath.Join(parent, "pt.beginning")
	for _, dir := range []string{killed, beginning} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(killed, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removeLeft(parent)
	for path, want := range map[string]bool{killed: false, beginning: true, running.tmp: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", filepath.Base(path), err == nil, want)
		}
	}
	left := running.tmp
	running.remove()
	if _, err := os.Stat(left); err == nil {
		t.Error("the directory of the run is left")
	}
}

func TestAvailable(t *testing.T) {
	for text, want := range map[string]uint64{
		"MemTotal: 8 kB\nMemAvailable:   12345 kB\n": 12345 << 10,
		"MemAvailable: much kB\n":                    0,
		"":                                           0,
	} {
		if got := available(text); got != want {
			t.Errorf("%q has %d bytes available, want %d", text, got, want)
		}
	}
}
