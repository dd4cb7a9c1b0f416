package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen_CreatesFilesOnlyTheOwnerCanRead(t *testing.T) {
	s := openTest(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(s.path + "*")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has the mode %o", filepath.Base(file), mode)
		}
	}
}

func TestOpen_RefusesADatabaseInMemory(t *testing.T) {
	s, err := Open(t.Context(), ":memory:", Options{Exclusive: true})
	if err == nil {
		t.Error(s.Close())
	} else if !strings.Contains(err.Error(), "must be a file") {
		t.Error(err)
	}
	if _, err := os.Stat(":memory:.lock"); err == nil {
		t.Error("a lock file was left behind")
	}
}
