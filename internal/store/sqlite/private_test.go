package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

func TestANewDatabaseIsReadableForItsOwnerOnly(t *testing.T) {
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
