package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestConcurrent_ListsWhatStartsGoroutines verifies that the race detector sees every test
// that starts goroutines, and that the table names tests that exist.
func TestConcurrent_ListsWhatStartsGoroutines(t *testing.T) {
	starting := startingGoroutines(t)
	named := map[string]bool{}
	for name, tests := range groups {
		whole := slices.Contains(concurrent, name)
		named[name] = true
		for test, run := range tests {
			named[name+"/"+test] = true
			function := runtime.FuncForPC(reflect.ValueOf(run).Pointer()).Name()
			// A function within another one counts as it.
			function, _, _ = strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".func")
			function = strings.TrimPrefix(function, "storetest.")
			if listed := slices.Contains(concurrent, name+"/"+test); !whole && listed != starting[function] {
				t.Errorf("%s/%s (%s): it starts goroutines: %t; in the table: %t", name, test, function, starting[function], listed)
			}
		}
	}
	for _, name := range concurrent {
		if !named[name] {
			t.Errorf("there is no test %s", name)
		}
	}
}

// startingGoroutines returns the names of the functions of this package that start
// goroutines, also through others.
func startingGoroutines(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	starting, calls := map[string]bool{}, map[string][]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(path, "_test.go") {
				continue
			}
			name := function.Name.Name
			for node := range ast.Preorder(function) {
				switch node := node.(type) {
				case *ast.GoStmt:
					starting[name] = true
				case *ast.SelectorExpr: // a method is called, or passed on
					starting[name] = starting[name] || node.Sel.Name == "Go"
				case *ast.CallExpr:
					called := node.Fun
					if generic, ok := called.(*ast.IndexExpr); ok {
						called = generic.X
					}
					switch called := called.(type) {
					case *ast.Ident:
						calls[name] = append(calls[name], called.Name)
					case *ast.SelectorExpr:
						calls[name] = append(calls[name], called.Sel.Name)
					}
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for name, others := range calls {
			if !starting[name] && slices.ContainsFunc(others, func(other string) bool { return starting[other] }) {
				starting[name], changed = true, true
			}
		}
	}
	return starting
}
