package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var somePackages = []string{
	module + "/internal/job", module + "/internal/store/postgres", module + "/test/e2e", module + "/test/hostile",
	module + "/test/nodes", module + "/test/sim", module + "/scripts/testrun",
}

func TestEverything_StagesAndOrder(t *testing.T) {
	stages := everything(somePackages, []string{"-count=1"})
	var got []string
	for _, s := range stages {
		for i, each := range append([]stage{s}, s.beside...) {
			line := strings.ReplaceAll(strings.Join(each.packages, " "), module+"/", "")
			if i > 0 {
				line = "beside " + line
			}
			if slices.Contains(each.args, "-race") {
				line += " -race"
			}
			if slices.Contains(each.args, storesOneByOne) {
				line += " -skip"
			}
			for _, v := range each.env {
				line += " " + v
			}
			got = append(got, line)
			if !slices.Contains(each.args, "-count=1") || each.program == slices.Contains(each.env, storesSerial) {
				t.Errorf("a stage is %+v", each)
			}
			if plain := strings.Contains(each.prefix, "-race=false"); plain == slices.Contains(each.args, "-race") {
				t.Errorf("the tests of %s are repeated by %q", line, each.prefix)
			}
		}
	}
	want := []string{"test/nodes test/e2e", "beside internal/job test/sim",
		"beside internal/store/postgres scripts/testrun -race -skip PUNCTUAL_STORETEST=concurrent",
		"internal/store/postgres PUNCTUAL_STORETEST=sequential", "test/hostile"}
	if !slices.Equal(got, want) {
		t.Errorf("the stages are %q, want %q", got, want)
	}
}

// What the race detector's part skips runs in the other part, and only stores have tests
// of these names.
func TestEverything_RunsWhatItSkips(t *testing.T) {
	in, out := regexp.MustCompile(storeSuite), regexp.MustCompile(storesOneByOne)
	packages, err := list(module + "/...")
	if err != nil {
		t.Fatal(err)
	}
	skipped := map[string]int{}
	for _, name := range packages {
		for _, test := range testsOf(t, name) {
			if !out.MatchString(test) {
				continue
			}
			if skipped[name]++; !in.MatchString(test) || len(only([]string{name}, stores)) == 0 {
				t.Errorf("nothing runs %s of %s", test, name)
			}
		}
	}
	if len(skipped) != len(stores) {
		t.Errorf("of the stores, %v have tests that are skipped", skipped)
	}
}

// testsOf returns the names of the tests of a package.
func testsOf(t *testing.T, name string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", strings.TrimPrefix(name, module), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declaredTest.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}

var declaredTest = regexp.MustCompile(`(?m)^func (Test\w+)`)

func TestRaced_RunsAllWithTheRaceDetector(t *testing.T) {
	var packages []string
	for _, s := range raced(somePackages, nil) {
		packages = append(packages, s.packages...)
		if !slices.Contains(s.args, "-race") || !slices.Contains(s.env, "PUNCTUAL_E2E_RACE=1") || !s.program || len(s.beside) > 0 {
			t.Errorf("a stage is %+v", s)
		}
	}
	slices.Sort(packages)
	if want := slices.Sorted(slices.Values(somePackages)); !slices.Equal(packages, want) {
		t.Errorf("the packages are %q", packages)
	}
}

func TestStagesOf_ArgumentsSelectTests(t *testing.T) {
	stages, err := stagesOf("", []string{"-race=false", "-run", "TestX", "-tags", "a b", "./internal/job"})
	if err != nil || len(stages) != 1 {
		t.Fatal(stages, err)
	}
	if got, want := stages[0].prefix, "scripts/test -race=false -tags 'a b'"; got != want {
		t.Errorf("a test is repeated by %q, want %q", got, want)
	}
	if _, err := stagesOf("most", nil); err == nil {
		t.Error("a plan that does not exist was accepted")
	}
}

func TestTakePlan(t *testing.T) {
	for line, want := range map[string]string{"": "", "-plan=race": "race", "-plan=quick -v": "quick", "-v ./x": "", "./x -plan=race": ""} {
		plan, rest := takePlan(strings.Fields(line))
		if plan != want || plan == "" && len(rest) != len(strings.Fields(line)) {
			t.Errorf("%q is plan %q with %q", line, plan, rest)
		}
	}
}

// The names in the tables must be those of packages.
func TestPlans_NameExistingPackages(t *testing.T) {
	packages, err := list(module + "/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(crowds, longest, notQuick, plain, sequential, stores, exclusive) {
		if !slices.Contains(packages, module+"/"+name) {
			t.Errorf("there is no package %s", name)
		}
	}
}

// The race detector may leave out only what runs in one goroutine.
func TestSequential_StartNoGoroutines(t *testing.T) {
	for _, name := range sequential {
		files, err := filepath.Glob(filepath.Join("..", "..", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", name, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if found := startsGoroutine(t, string(text)); found != "" {
				t.Errorf("%s has %s", path, found)
			}
		}
	}
	for source, want := range map[string]string{
		"go f()": "a go statement", "group.Go(f)": "a call of Go", "t.Parallel()": "a call of Parallel", "going()": "",
	} {
		if got := startsGoroutine(t, "package x\nfunc y() { "+source+" }"); got != want {
			t.Errorf("%s has %q, want %q", source, got, want)
		}
	}
}

// startsGoroutine returns what in a file starts a goroutine; "" if nothing does.
func startsGoroutine(t *testing.T, text string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for node := range ast.Preorder(file) {
		switch node := node.(type) {
		case *ast.GoStmt:
			return "a go statement"
		case *ast.CallExpr:
			if called, ok := node.Fun.(*ast.SelectorExpr); ok && (called.Sel.Name == "Go" || called.Sel.Name == "Parallel") {
				return "a call of " + called.Sel.Name
			}
		}
	}
	return ""
}

func TestVerbose(t *testing.T) {
	for line, want := range map[string]bool{"-v ./x": true, "-test.v=true": true, "--bench=.": true, "-run v": false, "./v": false} {
		if got := verbose(strings.Fields(line)); got != want {
			t.Errorf("%q is verbose: %t", line, got)
		}
	}
}
