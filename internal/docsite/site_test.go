package docsite

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/docs"
	"github.com/punctual-dev/punctual/internal/dashboard/assets"
	"github.com/punctual-dev/punctual/internal/staticfile"
)

func get(t *testing.T, s *Site, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if !s.Serve(w, httptest.NewRequest(http.MethodGet, path, nil)) {
		t.Fatalf("there is no %s", path)
	}
	return w
}

var (
	ids   = regexp.MustCompile(` id="([^"]*)"`)
	links = regexp.MustCompile(` (?:href|src)="([^"]*)"`)
)

func TestContents_ListEveryPage(t *testing.T) {
	s := New()
	listed := map[string]bool{}
	for _, p := range s.pages {
		if listed[p.name] {
			t.Errorf("%s is listed twice", p.name)
		}
		listed[p.name] = true
	}
	_ = fs.WalkDir(docs.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".md") && !listed[name] {
			t.Errorf("docs/README.md does not list %s", name)
		}
		return err
	})
	var titles []string
	for _, section := range s.sections {
		titles = append(titles, section.Title)
	}
	if got := strings.Join(titles, ", "); got != "Begin, Use, Operate, Move to punctual" {
		t.Errorf("the sections are %s", got)
	}
}

func TestLinks_LeadSomewhere(t *testing.T) {
	s := New()
	paths := []string{Prefix, wholePath}
	for _, slug := range api.ReferenceSlugs {
		paths = append(paths, callsPath+slug)
	}
	for _, p := range s.pages {
		paths = append(paths, p.path)
	}
	found := map[string][]string{}
	html := map[string]string{}
	for _, path := range paths {
		html[path] = get(t, s, path).Body.String()
		for _, m := range ids.FindAllStringSubmatch(html[path], -1) {
			if slices.Contains(found[path], m[1]) {
				t.Errorf("%s has two places with the id %s", path, m[1])
			}
			found[path] = append(found[path], m[1])
		}
	}
	for _, path := range paths {
		for _, m := range links.FindAllStringSubmatch(html[path], -1) {
			checkLink(t, s, found, path, m[1])
		}
	}
}

// checkLink follows a link of a page. Other hosts are not asked.
func checkLink(t *testing.T, s *Site, found map[string][]string, from, link string) {
	to, fragment, _ := strings.Cut(link, "#")
	if to == "" {
		to = from
	}
	file, ours := strings.CutPrefix(to, repository)
	switch {
	case link == "data:,", to == "/openapi.json", to == "/": // the last is the dashboard
	case to == assets.Path(assets.Typeface), to == assets.Path(assets.Icon): // the dashboard serves them
	case ours:
		if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(file))); err != nil {
			t.Errorf("%s links to %s, which the repository doesn't have", from, file)
		}
	case strings.HasPrefix(to, "http://"), strings.HasPrefix(to, "https://"):
	case !s.Has(to):
		t.Errorf("%s links to %s, which the site doesn't have", from, link)
	case fragment != "" && !slices.Contains(found[to], fragment):
		t.Errorf("%s links to %s, which has no such heading", from, link)
	}
}

func TestPages_HaveNoRawHTMLAndNothingInline(t *testing.T) {
	s := New()
	for _, p := range s.pages {
		w := get(t, s, p.path)
		html := w.Body.String()
		for _, banned := range []string{"raw HTML omitted", "ZgotmplZ", " style=", " onclick", "<style", "<script>", `src="http`,
			`rel="stylesheet" href="http`} {
			if strings.Contains(html, banned) {
				t.Errorf("%s has %q", p.path, banned)
			}
		}
		if got := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got,
			"default-src 'none'; style-src 'self'; script-src 'self';") {
			t.Errorf("%s has the policy %s", p.path, got)
		}
		if strings.Count(html, "<h1") != 1 || !strings.Contains(html, `aria-current="page">`+p.Title) && p.name != readme {
			t.Errorf("%s lacks its heading or its place in the navigation", p.path)
		}
	}
}

// The reference was one page once: an address into it leads to a link to the place.
func TestReference_KeepsAddressesIntoTheOnePage(t *testing.T) {
	s := New()
	first := get(t, s, Prefix).Body.String()
	for _, m := range ids.FindAllStringSubmatch(get(t, s, wholePath).Body.String(), -1) {
		if !strings.Contains(first, m[0]) {
			t.Errorf("/docs lacks the id %s", m[1])
		}
	}
	if want := `<li id="createJob"><a href="/docs/api/jobs#createJob">`; !strings.Contains(first, want) {
		t.Errorf("/docs lacks %s", want)
	}
}

// TestReference_PartsAreSmall bounds what a reader waits for.
func TestReference_PartsAreSmall(t *testing.T) {
	s := New()
	parts := s.parts()
	for i, p := range parts {
		if i > 0 && p.Slug != api.ReferenceSlugs[i-1] {
			t.Errorf("part %d is %s; ReferenceSlugs has %s", i, p.Slug, api.ReferenceSlugs[i-1])
		}
		plain, compressed := staticfile.New(htmlType, p.HTML).Size()
		t.Logf("%s: %d bytes, compressed %d", p.Title, plain, compressed)
		if plain > 144<<10 || compressed > 26<<10 {
			t.Errorf("%s has %d bytes, compressed %d", p.Title, plain, compressed)
		}
		if strings.Contains(string(p.HTML), "ZgotmplZ") || strings.Count(string(p.HTML), "<h1") != 1 {
			t.Errorf("%s has a refused value, or not one heading", p.Title)
		}
	}
	if len(parts) != len(api.ReferenceSlugs)+1 {
		t.Errorf("%d parts, %d slugs", len(parts), len(api.ReferenceSlugs))
	}
}

func TestRender_LeavesHostileMarkdownHarmless(t *testing.T) {
	var out strings.Builder
	err := markdown.Convert([]byte("<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![y](x\" onerror=\"z) <b>\n\n# \"><img>\n"), &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, banned := range []string{"<script", `href="javascript`, `" onerror`, "<b>", "<img>"} {
		if strings.Contains(out.String(), banned) {
			t.Errorf("got %s", out.String())
		}
	}
}

func TestHeadings_HaveTheIDsOfGitHub(t *testing.T) {
	d := &githubIDs{}
	for _, test := range [][2]string{
		{"Rates, quotas and suspension", "rates-quotas-and-suspension"}, {"E-mail", "e-mail"}, {"`limits set`", "limits-set"},
		{"On paper: 1,000 and 100,000 jobs", "on-paper-1000-and-100000-jobs"}, {"I can't sign up", "i-cant-sign-up"},
		{"E-mail", "e-mail-1"}, {"a_b  c", "a_b--c"},
	} {
		if got := string(d.Generate([]byte(test[0]), 0)); got != test[1] {
			t.Errorf("%s: got %s, want %s", test[0], got, test[1])
		}
	}
}

func TestSearch_KnowsSectionsAndCalls(t *testing.T) {
	s := New()
	var entries []entry
	if err := json.Unmarshal(get(t, s, searchPath).Body.Bytes(), &entries); err != nil {
		t.Fatal(err)
	}
	has := func(href, title string) {
		t.Helper()
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.Href == href && e.Title == title }) {
			t.Errorf("the index lacks %s, %s", href, title)
		}
	}
	has("/docs/guides/concepts#retries", "Retries")
	has("/docs/guides/quickstart", "Quickstart")
	has("/docs/api/schemas#JobRecord", "JobRecord")
	has("/docs/api/jobs#createJob", "POST /api/jobs: Create a job")
	file := s.responses[searchPath]().file
	if plain, compressed := file.Size(); plain > 576<<10 || compressed > 184<<10 {
		t.Errorf("the index has %d bytes, compressed %d", plain, compressed)
	}
	for _, e := range entries {
		if to, _, _ := strings.Cut(e.Href, "#"); !s.Has(to) || len(e.Text) > maxEntryText {
			t.Errorf("%s: %d bytes of text", e.Href, len(e.Text))
		}
	}
}

func TestLLMs_ListsThePagesAsMarkdown(t *testing.T) {
	s := New()
	list, full := get(t, s, LLMs).Body.String(), get(t, s, LLMsFull).Body.String()
	for _, want := range []string{"# punctual\n\n> punctual sends", "## Operate", "- [Quickstart](/docs/guides/quickstart.md): a first job",
		"(/openapi.json)"} {
		if !strings.Contains(list, want) {
			t.Errorf("%s lacks %q:\n%s", LLMs, want, list)
		}
	}
	for _, p := range s.pages[1:] {
		text := get(t, s, p.path+".md").Body.String()
		if !strings.HasPrefix(text, "# ") || !strings.Contains(full, text) || strings.Contains(text, "](../") {
			t.Errorf("%s.md is not the page, or not in %s", p.path, LLMsFull)
		}
	}
	if len(full) > 1<<20 {
		t.Errorf("%s has %d bytes", LLMsFull, len(full))
	}
}

func TestServe_KnowsOnlyItsPaths(t *testing.T) {
	s := New()
	for _, path := range []string{"/docs/", "/docs/guides/", "/docs/guides/none", "/docs/../docs", "/docs/adr/README",
		"/docs/assets/site.css", "/docs/README.md"} {
		if s.Has(path) {
			t.Errorf("there is %s", path)
		}
	}
	if got := get(t, s, s.style).Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("the style sheet may be kept %q", got)
	}
	if got := get(t, s, indexPath).Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("a page may be kept %q", got)
	}
}

// BenchmarkSite_All measures what rendering every page costs, which happens once
// for each page.
func BenchmarkSite_All(b *testing.B) {
	for b.Loop() {
		s := New()
		for _, build := range s.responses {
			build()
		}
	}
}

// BenchmarkNew measures what the site adds to a start.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}
