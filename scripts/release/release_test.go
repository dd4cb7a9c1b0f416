package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

const repository = "../.."

// full makes the tests build this repository's program for all targets instead of a
// small one for a few.
var full = os.Getenv("PUNCTUAL_RELEASE_FULL") != ""

// tagged makes a repository with a release's tag in a directory: of everything here
// that is tracked, or of what a release needs and a small program.
func tagged(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "original")
	if full {
		git(t, repository, "clone", "--quiet", "--no-tags", ".", dir)
	} else {
		for _, path := range []string{"LICENSE", "README.md", "CHANGELOG.md", "deploy/debian", "deploy/systemd", "deploy/container",
			"tools"} {
			copyTree(t, filepath.Join(repository, path), filepath.Join(dir, path))
		}
		put(t, dir, "go.mod", "module github.com/punctual-dev/punctual\n\ngo 1.26.0\n\ntoolchain "+runtime.Version()+"\n")
		put(t, dir, "internal/buildinfo/buildinfo.go",
			"package buildinfo\n\nvar version, commit, date string\n\nfunc Text() string { return version + \" \" + commit + \" \" + date }\n")
		put(t, dir, "cmd/punctual/main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/punctual-dev/punctual/internal/buildinfo\"\n)\n\nfunc main() { fmt.Println(\"punctual\", buildinfo.Text()) }\n")
		git(t, dir, "init", "--quiet")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "--quiet", "-m", "all")
	}
	git(t, dir, "tag", "v1.2.3-rc.1")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "tag.gpgsign=false", "-c",
		"commit.gpgsign=false", "-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-22T10:00:00Z", "GIT_AUTHOR_DATE=2026-11-22T10:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Dir(to), filepath.Base(to), string(text))
}

// TestRelease_IsTheSameWhereverItIsBuilt builds a release in two directories and
// compares every byte; in full, the second one with an empty cache of the compiler.
func TestRelease_IsTheSameWhereverItIsBuilt(t *testing.T) {
	original := tagged(t)
	elsewhere := filepath.Join(t.TempDir(), "a", "longer", "path")
	git(t, original, "clone", "--quiet", ".", elsewhere)
	list := "linux/amd64,linux/arm64,windows/amd64"
	if full {
		list = targets
	}
	sums := map[string]string{}
	for _, dir := range []string{original, elsewhere} {
		if dir == elsewhere && full {
			t.Setenv("GOCACHE", t.TempDir())
		}
		// The time, the zone, the mask and the user's settings of Go decide nothing.
		t.Setenv("TZ", map[string]string{original: "UTC", elsewhere: "Asia/Tokyo"}[dir])
		t.Setenv("GOFLAGS", map[string]string{original: "", elsewhere: "-buildvcs=false"}[dir])
		out := filepath.Join(t.TempDir(), "dist")
		if err := run(t.Context(), []string{"-root", dir, "-out", out, "-targets", list}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[dir] = string(text)
		inspect(t, out, git(t, original, "rev-parse", "HEAD"))
	}
	if sums[original] != sums[elsewhere] {
		t.Errorf("the files differ:\n%s\n%s", sums[original], sums[elsewhere])
	}
}

// inspect looks at the files of a release.
func inspect(t *testing.T, out, commit string) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"punctual_1.2.3-rc.1_linux_amd64.tar.gz", "punctual_1.2.3-rc.1_linux_arm64.tar.gz", "punctual_1.2.3-rc.1_windows_amd64.zip",
		"punctual_1.2.3-rc.1_linux_amd64.cdx.json", "punctual_1.2.3-rc.1_container.tar.gz",
		"punctual_1.2.3~rc.1_amd64.deb", "punctual_1.2.3~rc.1_arm64.deb",
	} {
		sum, err := hashOf(filepath.Join(out, name))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(sums), sum+"  "+name+"\n") {
			t.Errorf("SHA256SUMS lacks %s", name)
		}
	}
	archive := untar(t, filepath.Join(out, "punctual_1.2.3-rc.1_linux_amd64.tar.gz"))
	if got := names(archive); !slices.Equal(got, []string{"CHANGELOG.md", "LICENSE", "README.md", "punctual", "punctual.service"}) {
		t.Errorf("the archive has %v", got)
	}
	context := untar(t, filepath.Join(out, "punctual_1.2.3-rc.1_container.tar.gz"))
	if got := names(context); !slices.Equal(got, []string{"Dockerfile", "LICENSE", "data/", "linux/amd64/punctual",
		"linux/arm64/punctual"}) {
		t.Errorf("the build context has %v", got)
	}
	zipped, err := zip.OpenReader(filepath.Join(out, "punctual_1.2.3-rc.1_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close()
	if zipped.File[0].Name != "punctual.exe" {
		t.Errorf("the zip file begins with %s", zipped.File[0].Name)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	program := filepath.Join(t.TempDir(), "punctual")
	if err := os.WriteFile(program, archive["punctual"], 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(program, "version").Output()
	if err != nil || !strings.HasPrefix(string(text), "punctual v1.2.3-rc.1") || !full &&
		!strings.Contains(string(text), commit+" 2026-11-22T10:00:00Z") {
		t.Errorf("punctual version says %q, %v", text, err)
	}
	install(t, filepath.Join(out, "punctual_1.2.3~rc.1_amd64.deb"))
}

// install unpacks the Debian package into a directory as dpkg would.
func install(t *testing.T, deb string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Log("dpkg-deb is missing: the Debian package is not inspected")
		return
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", deb, root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, mode := range map[string]os.FileMode{
		"usr/bin/punctual": 0o755, "lib/systemd/system/punctual.service": 0o644, "etc/punctual/punctual.env": 0o640,
		"usr/share/doc/punctual/copyright": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info, err, mode)
		}
	}
	control := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--control", deb, control).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	conffiles, err := os.ReadFile(filepath.Join(control, "conffiles"))
	if err != nil || string(conffiles) != "/etc/punctual/punctual.env\n" {
		t.Errorf("configuration files are %q, %v", conffiles, err)
	}
	fields, err := exec.Command("dpkg-deb", "--field", deb, "Package", "Version", "Architecture", "Depends").Output()
	if want := "Package: punctual\nVersion: 1.2.3~rc.1\nArchitecture: amd64\nDepends: adduser, ca-certificates\n"; err != nil ||
		string(fields) != want {
		t.Errorf("the package describes itself as %q, %v", fields, err)
	}
	// The scripts are shell that at least parses, and do nothing where systemd does not run.
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if out, err := exec.Command("sh", "-n", filepath.Join(control, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

func untar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.ModTime.IsZero() {
			t.Errorf("%s belongs to %d, changed at %v", header.Name, header.Uid, header.ModTime)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func names(files map[string][]byte) []string {
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestDescribe_WantsATagAndNoChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "go.mod", "module example.com/m\n\ngo 1.26.0\n\ntoolchain go1.26.8\n")
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "all")
	git(t, dir, "tag", "v1.2") // no version
	if _, err := describe(context.Background(), dir, false); err == nil || !strings.Contains(err.Error(), "no tag like v1.2.3") {
		t.Errorf("without a tag: %v", err)
	}
	s, err := describe(context.Background(), dir, true)
	if err != nil || !regexp.MustCompile(`^v0\.0\.0-20261122100000-[0-9a-f]{12}$`).MatchString(s.version) || s.toolchain != "go1.26.8" {
		t.Errorf("a snapshot: %+v, %v", s, err)
	}
	git(t, dir, "tag", "v1.2.3")
	if s, err := describe(context.Background(), dir, false); err != nil || s.version != "v1.2.3" ||
		!s.date.Equal(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("with a tag: %+v, %v", s, err)
	}
	put(t, dir, "new.txt", "")
	if _, err := describe(context.Background(), dir, false); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("with changes: %v", err)
	}
}

func TestBOM_ListsWhatWasLinked(t *testing.T) {
	t.Parallel()
	r := &release{source: source{version: "v1.2.3", commit: "abc", date: time.Unix(0, 0).UTC()}}
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/punctual-dev/punctual"}, Deps: []*debug.Module{
		{Path: "golang.org/x/net", Version: "v0.62.0"},
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0+incompatible"}},
	}}
	text, err := json.Marshal(r.bom(binary{target: target{"linux", "amd64"}}, info, "00ff"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"metadata":{"timestamp":"1970-01-01T00:00:00Z","component":` +
		`{"type":"application","bom-ref":"pkg:golang/github.com/punctual-dev/punctual@v1.2.3","name":"punctual","version":"v1.2.3","purl":"pkg:golang/github.com/punctual-dev/punctual@v1.2.3",` +
		`"hashes":[{"alg":"SHA-256","content":"00ff"}],"licenses":[{"expression":"MIT"}],"properties":[{"name":"punctual:target","value":"linux/amd64"},{"name":"punctual:commit","value":"abc"}]}},` +
		`"components":[{"type":"library","bom-ref":"pkg:golang/example.com/new@v2.0.0%2Bincompatible","name":"example.com/new","version":"v2.0.0+incompatible","purl":"pkg:golang/example.com/new@v2.0.0%2Bincompatible"},` +
		`{"type":"library","bom-ref":"pkg:golang/golang.org/x/net@v0.62.0","name":"golang.org/x/net","version":"v0.62.0","purl":"pkg:golang/golang.org/x/net@v0.62.0"},` +
		`{"type":"library","bom-ref":"pkg:golang/stdlib@1.26.8","name":"stdlib","version":"1.26.8","purl":"pkg:golang/stdlib@1.26.8"}],` +
		`"dependencies":[{"ref":"pkg:golang/github.com/punctual-dev/punctual@v1.2.3","dependsOn":["pkg:golang/example.com/new@v2.0.0%2Bincompatible","pkg:golang/golang.org/x/net@v0.62.0","pkg:golang/stdlib@1.26.8"]}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestReplace_SparesOtherDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "precious.txt", "")
	if err := replace(dir); err == nil {
		t.Error("it replaced a directory that is no release")
	}
	put(t, dir, "SHA256SUMS", "")
	if err := replace(dir); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
