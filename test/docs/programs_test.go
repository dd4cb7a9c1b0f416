package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// elsewhere says how blocks of programs and settings are tested that TestPrograms_InGoCompile
// does not compile, or why they are not: by page and language, for all blocks of it.
var elsewhere = map[string]string{
	"quickstart.md ts":            "clients/typescript runs it",
	"quickstart.md python":        "TestExamples_InPythonRun runs it",
	"clients-typescript.md ts":    "clients/typescript compiles it and runs it",
	"clients-python.md python":    "clients/python runs it",
	"from-bullmq.md ts":           "clients/typescript runs it",
	"workflows.md ts":             "parts of a program with another service's library, whose steps test/clients runs",
	"concepts.md js":              "TestVerifiers_AgreeWithTheService runs it",
	"concepts.md python":          "TestVerifiers_AgreeWithTheService runs it",
	"files.md yaml":               "TestPrograms_DocumentIsApplied applies it",
	"high-availability.md yaml":   "settings of Patroni, another program",
	"local-development.md ts":     "clients/typescript runs nearly the same program as a test",
	"local-development.md python": "clients/python runs nearly the same program as a test",
	"local-development.md yaml":   "a workflow of GitHub",
	"backups.md yaml":             "test/copies runs Litestream with it, in make chaos",
}

// pages returns the README and the guides but for the reference of commands, which is
// generated.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(guides + "*.md")
	if err != nil || len(list) == 0 {
		t.Fatalf("there are no guides: %v", err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(page string) bool { return filepath.Base(page) == "commands.md" })
	return slices.Concat(list, more, []string{"../../README.md"})
}

func TestPrograms_AreTestedOrSayWhyNot(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains([]string{"", "sh", "text", "go", "json", "sql", "ini"}, block[1]) {
				continue // calls and Go have tests of their own, the others are read, not run
			}
			key := filepath.Base(page) + " " + block[1]
			if used[key] = true; elsewhere[key] == "" {
				t.Errorf("%s: say in elsewhere how this block of %s is tested:\n%s", page, block[1], block[2])
			}
		}
	}
	for key := range elsewhere {
		if !used[key] {
			t.Errorf("no page has a block for %q", key)
		}
	}
}

// imported are the packages that blocks of Go name, by the name.
var imported = map[string]string{
	"base64": "encoding/base64", "client": "github.com/punctual-dev/punctual/client", "context": "context", "errors": "errors",
	"fmt":  "fmt",
	"hmac": "crypto/hmac", "http": "net/http", "httptest": "net/http/httptest", "os": "os",
	"punctualtest": "github.com/punctual-dev/punctual/client/punctualtest",
	"receiver":     "github.com/punctual-dev/punctual/client/receiver", "sha256": "crypto/sha256", "sql": "database/sql",
	"strconv": "strconv",
	"strings": "strings", "testing": "testing", "time": "time",
}

// around are what blocks of Go take from the reader's program: the parameters of a
// function that has the block as its body, and functions that it calls.
const around = `ctx context.Context, c *client.Client, db *sql.DB, verifier *client.Verifier, next http.Handler, w http.ResponseWriter, r *http.Request`

const readers = `
func newProgram(*client.Client) http.Handler { return nil }
func signUp(*testing.T, string) {}
func remindersSent(*testing.T, string) int { return 1 }
`

// TestPrograms_InGoCompile compiles the blocks of Go of each page as one program.
func TestPrograms_InGoCompile(t *testing.T) {
	t.Parallel()
	dir := inModule(t)
	for number, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		body := ""
		for i, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if block[1] == "go" && !strings.HasPrefix(block[2], "package ") { // whole programs are run
				body += compilable(t, fmt.Sprintf("part%d", i), block[2])
			}
		}
		if body == "" {
			continue
		}
		package_ := filepath.Join(dir, fmt.Sprintf("page%d", number))
		if err := os.Mkdir(package_, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(package_, "page.go"), []byte(source(body)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, ".", os.Environ(), "go", "build", "./"+dir+"/...")
}

// compilable returns a block as declarations: as it is if it is that, else as the body of
// a function that uses its variables.
func compilable(t *testing.T, name, block string) string {
	t.Helper()
	if strings.HasPrefix(block, "func ") || strings.HasPrefix(block, "// ") {
		return block
	}
	text := "func " + name + "(" + around + ") (err error) {\n{\n" + block
	file, err := parser.ParseFile(token.NewFileSet(), "", "package page\n"+text+"}\nreturn err\n}\n", 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, block)
	}
	for _, statement := range file.Decls[0].(*ast.FuncDecl).Body.List[0].(*ast.BlockStmt).List {
		assign, ok := statement.(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE {
			continue
		}
		for _, left := range assign.Lhs {
			if name := left.(*ast.Ident).Name; name != "_" {
				text += "_ = " + name + "\n"
			}
		}
	}
	return text + "}\nreturn err\n}\n"
}

// source returns the file of a page.
func source(body string) string {
	body += readers + "func around(" + around + ") {}\n"
	var imports strings.Builder
	for name, path := range imported {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(body) {
			fmt.Fprintf(&imports, "import %q\n", path)
		}
	}
	return "package page\n" + imports.String() + body
}

// TestPrograms_DocumentIsApplied applies the document of the guide to files.
func TestPrograms_DocumentIsApplied(t *testing.T) {
	t.Parallel()
	service := harness.Shared(t)
	account := service.Account(t)
	file := filepath.Join(t.TempDir(), "schedules.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(blocks(t, "files.md", "yaml"), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, ".", environment(t, service, account, harness.SharedTarget(t).Route(t)), harness.Binary(t), "apply", "-f", file, "--yes")
	wantSchedules(t, account, "nightly-report")
}
