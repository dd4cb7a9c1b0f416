package archtest

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/punctual-dev/punctual"

// mayImport lists, for every package, what it may import from this tree.
// Packages for tests only are not listed: see testSupport.
var mayImport = map[string][]string{
	"api":                     {"api/internal/reference"},
	"api/internal/reference":  {"api/internal/tree"},
	"api/internal/tree":       {},
	"api/samples":             {"client"},
	"client":                  {},
	"client/outbox":           {"client"},
	"client/receiver":         {"client"},
	"client/punctualtest":     {"client"},
	"cmd/punctual":            {"internal/cli"},
	"examples/nightly-report": {"client", "client/receiver"},
	"examples/shop":           {"client", "client/outbox", "client/receiver"},
	"docs":                    {},
	"internal/access":         {"internal/fault", "internal/identity"},
	"internal/admission":      {"internal/fault", "internal/identity", "internal/job", "internal/store", "internal/workflow"},
	"internal/alert": {"internal/fault", "internal/job", "internal/mailaddress", "internal/notify", "internal/rawjson",
		"internal/store", "internal/workflow"},
	"internal/alert/consent": {"internal/fault", "internal/identity", "internal/job", "internal/mailaddress", "internal/notify",
		"internal/store"},
	"internal/alert/watch": {"internal/alert", "internal/fault", "internal/job", "internal/store"},
	"internal/app":         {"*"},
	"internal/archtest":    {},
	"internal/tracing":     {"internal/job", "internal/pause"},
	"internal/attempt": {"internal/batch", "internal/dispatch", "internal/execute", "internal/fault", "internal/identity",
		"internal/issuer", "internal/job", "internal/lifecycle", "internal/metrics", "internal/notify", "internal/pause",
		"internal/rawjson", "internal/schedule", "internal/secret", "internal/store", "internal/tracing", "internal/workflow"},
	"internal/audit": {"internal/identity", "internal/job", "internal/store"},
	"internal/auth": {"internal/access", "internal/audit", "internal/execute", "internal/fault", "internal/identity", "internal/job",
		"internal/mailaddress", "internal/network", "internal/pause", "internal/quota", "internal/store"},
	"internal/batch": {"internal/fault"},
	"internal/bench": {"client", "client/outbox", "internal/app", "internal/auth", "internal/execute", "internal/identity",
		"internal/job", "internal/outbox", "internal/pause", "internal/schedule", "internal/store"},
	"internal/broadcast":   {},
	"internal/buildinfo":   {},
	"internal/cli":         {"*"},
	"internal/crontab":     {"internal/rawjson"},
	"internal/mailaddress": {},
	"internal/pause":       {},
	"internal/yamljson":    {},
	"internal/dashboard": {"internal/access", "internal/admission", "internal/alert/consent", "internal/audit", "internal/auth",
		"internal/broadcast", "internal/crontab", "internal/dashboard/assets", "internal/dashboard/ui", "internal/dashboard/view",
		"internal/edge", "internal/eventstream", "internal/fault", "internal/identity", "internal/job", "internal/jobquery",
		"internal/limit", "internal/naturaltime", "internal/notify", "internal/oidc", "internal/quota", "internal/rawjson",
		"internal/rehearse", "internal/schedule", "internal/secret", "internal/service", "internal/staticfile", "internal/stats",
		"internal/why", "internal/workflow"},
	"internal/dashboard/assets": {"internal/staticfile"},
	"internal/dashboard/ui":     {"internal/dashboard/assets", "internal/job", "internal/rawjson"},
	"internal/dashboard/view": {"internal/dashboard/ui", "internal/fault", "internal/job", "internal/notify", "internal/rawjson",
		"internal/schedule", "internal/workflow"},
	"internal/demo":     {"client", "internal/app", "internal/auth", "internal/rawjson", "internal/schedule"},
	"internal/dispatch": {"internal/execute", "internal/fault", "internal/pause", "internal/schedule", "internal/store"},
	"internal/docsite":  {"api", "docs", "internal/dashboard/assets", "internal/staticfile"},
	"internal/edge":     {"internal/fault", "internal/job", "internal/metrics", "internal/network", "internal/quota"},
	"internal/execute":  {"internal/fair", "internal/job", "internal/pause", "internal/rawjson"},
	"internal/fair":     {},
	"internal/fault":    {},
	"internal/eventstream": {"internal/admission", "internal/fault", "internal/job", "internal/network", "internal/pause",
		"internal/store"},
	"internal/httpapi": {"internal/access", "api", "internal/admission", "internal/audit", "internal/auth", "internal/broadcast",
		"internal/docsite", "internal/edge", "internal/eventstream", "internal/fault", "internal/identity", "internal/issuer",
		"internal/job", "internal/limit", "internal/listen", "internal/metrics", "internal/notify", "internal/quota", "internal/rawjson",
		"internal/rehearse", "internal/secret", "internal/service", "internal/stats", "internal/tracing", "internal/workflow"},
	"internal/identity": {"internal/job"},
	"internal/outbox":   {"internal/pause", "internal/rawjson"},
	"internal/issuer":   {"internal/identity"},
	"internal/release":  {"internal/fault", "internal/pause", "internal/store"},
	"internal/oidc":     {"internal/fault", "internal/identity", "internal/pause"},
	"internal/operation": {"internal/fault", "internal/job", "internal/metrics", "internal/pause", "internal/service",
		"internal/store"},
	"internal/operator": {},
	"internal/importer": {"internal/crontab", "internal/rawjson", "internal/schedule", "internal/yamljson"},
	"internal/job": {"internal/fault", "internal/limit", "internal/placeholder", "internal/rawjson", "internal/retry",
		"internal/schedule"},
	"internal/jobquery": {"internal/job"},
	"internal/service": {"internal/access", "internal/admission", "internal/alert", "internal/alert/consent", "internal/audit",
		"internal/batch", "internal/dispatch", "internal/fault", "internal/identity", "internal/job", "internal/lifecycle",
		"internal/limit", "internal/metrics", "internal/notify", "internal/operator", "internal/quota", "internal/rawjson",
		"internal/rehearse", "internal/schedule", "internal/secret", "internal/stats", "internal/store", "internal/workflow"},
	"internal/metrics":     {},
	"internal/network":     {},
	"internal/naturaltime": {"internal/rawjson", "internal/schedule"},
	"internal/notify":      {"internal/job", "internal/rawjson"},
	"internal/notify/smtp": {"internal/job", "internal/notify"},
	"internal/placeholder": {},
	"internal/secret": {"internal/access", "internal/audit", "internal/execute", "internal/fair", "internal/fault",
		"internal/identity", "internal/issuer", "internal/job", "internal/placeholder", "internal/rawjson", "internal/store"},
	"internal/quota":   {"internal/fault", "internal/identity", "internal/store"},
	"internal/rawjson": {},
	"internal/limit":   {},
	"internal/listen":  {"internal/fault", "internal/job", "internal/network", "internal/pause", "internal/store"},
	"internal/lifecycle": {"internal/fault", "internal/job", "internal/rawjson", "internal/retry", "internal/schedule",
		"internal/store", "internal/workflow"},
	"internal/rehearse": {"internal/job", "internal/lifecycle", "internal/limit", "internal/rawjson", "internal/schedule",
		"internal/store"},
	"internal/retry":      {},
	"internal/schedule":   {},
	"internal/socket":     {},
	"internal/staticfile": {},
	"internal/stats":      {"internal/job", "internal/rawjson", "internal/store"},
	"internal/store": {"internal/fault", "internal/identity", "internal/job", "internal/limit", "internal/operator",
		"internal/rawjson", "internal/textpack", "internal/workflow"},
	"internal/textpack": {},
	"internal/store/postgres": {"internal/fault", "internal/identity", "internal/job", "internal/limit", "internal/operator",
		"internal/pause", "internal/rawjson", "internal/store", "internal/store/records", "internal/workflow"},
	"internal/store/records": {"internal/fault", "internal/identity", "internal/job", "internal/limit", "internal/operator",
		"internal/rawjson", "internal/store", "internal/workflow"},
	"internal/store/sqlite": {"internal/fault", "internal/identity", "internal/job", "internal/limit", "internal/operator",
		"internal/rawjson", "internal/store", "internal/store/records", "internal/workflow"},
	"internal/compat/google": {"internal/fault", "internal/httpapi", "internal/job", "internal/limit", "internal/rawjson",
		"internal/service"},
	"internal/compat/qstash": {"internal/auth", "internal/edge", "internal/fault", "internal/httpapi", "internal/job",
		"internal/lifecycle", "internal/limit", "internal/pause", "internal/rawjson", "internal/service", "internal/workflow"},
	"internal/mcp": {"api", "internal/docsite", "internal/fault", "internal/httpapi", "internal/job", "internal/rawjson",
		"internal/why"},
	"internal/copydb":   {"internal/identity", "internal/job", "internal/limit", "internal/store", "internal/workflow"},
	"scripts/recording": {},
	"scripts/release":   {},
	"internal/why":      {"internal/job", "internal/limit"},
	"internal/virtual": {"internal/fault", "internal/httpapi", "internal/job", "internal/pause", "internal/rawjson",
		"internal/store"},
	"internal/workflow": {"internal/fault", "internal/rawjson"},
	"internal/maintenance": {"internal/fault", "internal/job", "internal/metrics", "internal/pause", "internal/stats",
		"internal/store"},
}

// testSupport names packages that only tests may import.
var testSupport = []string{"api/apitest", "internal/store/storetest", "internal/store/faulty", "test/", "scripts/testrun",
	"api/internal/generate", "internal/dashboard/generate"}

type goPackage struct {
	ImportPath, Dir, Name string
	Imports               []string
	GoFiles               []string
	TestGoFiles           []string
	XTestGoFiles          []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Imports,GoFiles,TestGoFiles,XTestGoFiles", module+"/...")
	command.Env = append(os.Environ(), "GOWORK=off") // the packages of this module only
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p goPackage
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d packages", len(all))
	}
	return all
}

func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

func TestImports_FollowTheTable(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if within(name, testSupport) {
			continue
		}
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("package %s is not in mayImport; add it with what it may import", name)
			continue
		}
		for _, imported := range p.Imports {
			local, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case !ours:
			case within(local, testSupport):
				t.Errorf("%s imports %s, which is for tests only", name, local)
			case !slices.Contains(allowed, "*") && !slices.Contains(allowed, local):
				t.Errorf("%s may not import %s; see mayImport", name, local)
			}
		}
	}
}

// The client is for programs of others: it must not bring them dependencies.
func TestClient_NeedsTheStandardLibraryOnly(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/client") {
			continue
		}
		for _, imported := range p.Imports {
			host, _, _ := strings.Cut(imported, "/")
			if strings.Contains(host, ".") && !strings.HasPrefix(imported, module+"/client") {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestPackages_AreDescribed(t *testing.T) {
	for _, p := range packages(t) {
		if p.Name == "main" || len(p.GoFiles) == 0 {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil,
			parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Errorf("%s has no doc.go: %v", p.ImportPath, err)
			continue
		}
		text := file.Doc.Text()
		if !strings.HasPrefix(text, "Package "+p.Name+" ") || len(strings.Fields(text)) < 25 {
			t.Errorf("the doc.go of %s says too little about the package", p.ImportPath)
		}
	}
}

// maxLines is the most lines that a file may have.
const maxLines = 800

func TestFiles_AreSmall(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			if source, generated := strings.CutSuffix(name, "_templ.go"); generated {
				name = source + ".templ"
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if isGenerated(text) {
				continue
			}
			if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
				t.Errorf("%s/%s has %d lines; split it, the maximum is %d", p.ImportPath, name, lines, maxLines)
			}
		}
	}
}

// isGenerated reports whether a program has written a file.
func isGenerated(text []byte) bool {
	return bytes.HasPrefix(text, []byte("// Code generated ")) || bytes.Contains(text, []byte("\n// Code generated "))
}
