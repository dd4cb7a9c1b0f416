package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	createdTable = regexp.MustCompile(`(?i)CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)`)
	droppedTable = regexp.MustCompile(`(?i)DROP TABLE (?:IF EXISTS )?(\w+)`)
	renamedTable = regexp.MustCompile(`(?i)ALTER TABLE (\w+) RENAME TO (\w+)`)
)

// tablesOf returns the names of the tables that a store's migrations leave.
func tablesOf(t *testing.T, store string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../store", store, "migrations/*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations of %s: %v", store, err)
	}
	tables := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if m := createdTable.FindStringSubmatch(line); m != nil {
				tables[m[1]] = true
			}
			if m := droppedTable.FindStringSubmatch(line); m != nil {
				delete(tables, m[1])
			}
			if m := renamedTable.FindStringSubmatch(line); m != nil {
				delete(tables, m[1])
				tables[m[2]] = true
			}
		}
	}
	return tables
}

// The page for new readers describes every table, and none that is gone.
func TestArchitecture_DescribesEveryTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## The tables\n")
	if !found {
		t.Fatal("docs/architecture.md has no section on tables")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	described := map[string]bool{}
	for line := range strings.Lines(section) {
		if cells := strings.SplitN(line, "|", 3); len(cells) == 3 {
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
				described[name[1]] = true
			}
		}
	}
	tables := tablesOf(t, "sqlite")
	for name := range tablesOf(t, "postgres") {
		tables[name] = true
	}
	for name := range tables {
		if !described[name] {
			t.Errorf("docs/architecture.md does not describe the table %s", name)
		}
	}
	for name := range described {
		if !tables[name] {
			t.Errorf("docs/architecture.md describes the table %s, which no store has", name)
		}
	}
}
