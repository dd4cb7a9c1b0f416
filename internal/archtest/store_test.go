package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const storePath = module + "/internal/store"

// wholeStores are the interfaces to everything that a database can do.
var wholeStores = []string{"Store", "Copyable"}

// mayNameStore lists the packages that open a store or implement one. All others
// declare the interface that they need.
var mayNameStore = []string{"internal/app", "internal/cli", "internal/dashboard", "internal/store", "internal/store/postgres",
	"internal/store/sqlite"}

func TestStore_WholeInterfaceIsNamedOnlyWhereStoresAreOpened(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if within(name, testSupport) || slices.Contains(mayNameStore, name) {
			continue
		}
		for _, file := range p.GoFiles {
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range namesStore(parsed) {
				t.Errorf("%s names an interface to the whole store; declare one with the methods that package %s calls", files.Position(at),
					p.Name)
			}
		}
	}
}

// maxMethods is the most methods that an interface of package store may declare itself.
const maxMethods = 12

func TestStore_InterfacesAreNarrow(t *testing.T) {
	files, err := filepath.Glob("../store/*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d files of package store: %v", len(files), err)
	}
	for _, name := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			of, ok := declared.Type.(*ast.InterfaceType)
			if !ok {
				return true
			}
			methods := 0
			for _, f := range of.Methods.List {
				methods += len(f.Names) // embedded interfaces have none
			}
			if methods > maxMethods {
				t.Errorf("%s: %s declares %d methods; split it by what its consumers need, the maximum is %d",
					set.Position(declared.Pos()), declared.Name.Name, methods, maxMethods)
			}
			return true
		})
	}
}

// ofOneStore are the migrations that one store has alone, with the reason.
var ofOneStore = map[string]string{
	"0035_held_claims.sql":       "an index for claims of nodes that are gone; SQLite has one node",
	"0042_uses_of_schedules.sql": "corrects rows that only PostgreSQL's code has stored",
	"0059_database_id.sql":       "punctual restores backups of SQLite only",
}

func TestMigrations_HaveTheSameNamesInBothStores(t *testing.T) {
	stores, numbers := map[string]int{}, map[string]string{}
	for _, store := range []string{"sqlite", "postgres"} {
		files, err := filepath.Glob("../store/" + store + "/migrations/*.sql")
		if err != nil || len(files) < 30 {
			t.Fatalf("found %d migrations of %s: %v", len(files), store, err)
		}
		for _, file := range files {
			stores[filepath.Base(file)]++
		}
	}
	for name := range stores {
		number, _, _ := strings.Cut(name, "_")
		if other := numbers[number]; other != "" {
			t.Errorf("%s and %s have the same number; give one the next free one", name, other)
		}
		numbers[number] = name
	}
	for name, n := range stores {
		if reason := ofOneStore[name]; n == 1 && reason == "" {
			t.Errorf("only one store has the migration %s; add it to the other, or its reason to ofOneStore", name)
		} else if n == 2 && reason != "" {
			t.Errorf("both stores have the migration %s; remove it from ofOneStore", name)
		}
	}
}

// namesStore returns where a file names one of wholeStores.
func namesStore(file *ast.File) (at []token.Pos) {
	for _, imported := range file.Imports {
		if strings.Trim(imported.Path.Value, `"`) != storePath {
			continue
		}
		local := "store"
		if imported.Name != nil {
			local = imported.Name.Name
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := selector.X.(*ast.Ident)
			if ok && x.Name == local && slices.Contains(wholeStores, selector.Sel.Name) {
				at = append(at, selector.Pos())
			}
			return true
		})
	}
	return at
}

func TestNamesStore_FindsEveryForm(t *testing.T) {
	for _, x := range []struct {
		source string
		want   int
	}{
		{`import "` + storePath + `"; type config struct { s store.Store }`, 1},
		{`import "` + storePath + `"; type wrapper struct { store.Store }`, 1},
		{`import "` + storePath + `"; type wide interface { store.Jobs; store.Store }`, 1},
		{`import "` + storePath + `"; func copy(from, to store.Copyable) store.Store { return from }`, 2},
		{`import db "` + storePath + `"; var s db.Store`, 1},
		{`import "` + storePath + `"; var s store.Jobs`, 0},
		{`import "` + storePath + `/sqlite"; var s *sqlite.Store`, 0},
		{`import "example.com/store"; var s store.Store`, 0},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+x.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(namesStore(file)); got != x.want {
			t.Errorf("%s: found %d names, want %d", x.source, got, x.want)
		}
	}
}
