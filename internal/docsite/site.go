package docsite

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/docs"
	"github.com/punctual-dev/punctual/internal/dashboard/assets"
	"github.com/punctual-dev/punctual/internal/staticfile"
)

// Prefix is the path of the reference, and with a slash the prefix of all other
// paths of the site but [LLMs] and [LLMsFull].
const Prefix = "/docs"

// The paths for programs that read the documentation.
const (
	LLMs     = "/llms.txt"
	LLMsFull = "/llms-full.txt"
)

const (
	indexPath  = Prefix + "/guides"
	searchPath = Prefix + "/search.json"
	callsPath  = Prefix + "/api/" // of the parts of the reference
	wholePath  = callsPath + "all"
	assetsPath = Prefix + "/assets/"
)

const (
	htmlType     = "text/html; charset=utf-8"
	markdownType = "text/markdown; charset=utf-8"
)

// policy is the Content-Security-Policy of guides.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	keep       = "public, max-age=31536000, immutable" // of what has a hash in its name
	revalidate = "no-cache"                            // of what a new version may change
)

var (
	//go:embed assets
	files embed.FS

	markup = template.Must(template.ParseFS(files, "assets/page.html"))
)

// response is what a path responds with.
type response struct {
	file         *staticfile.File
	csp, caching string
}

// Site serves the documentation. Its methods can be called at the same time.
type Site struct {
	contents
	responses      map[string]func() response // by path
	style, script  string                     // paths
	try            string                     // path of the script of the reference
	referenceStyle string
	parts          func() []api.ReferencePart // of the reference; the first is at Prefix
}

// New returns the site. It panics if the embedded pages are not complete, which any
// test of the site finds.
func New() *Site {
	s := &Site{responses: map[string]func() response{}}
	s.contents = readContents()
	face := bytes.ReplaceAll(read("assets/site.css"), []byte(assets.Typeface), []byte(assets.Path(assets.Typeface)))
	s.style = s.asset("site.css", "text/css; charset=utf-8", face)
	s.script = s.asset("site.js", "text/javascript; charset=utf-8", read("assets/site.js"))
	s.try = s.asset("try.js", "text/javascript; charset=utf-8", read("assets/try.js"))
	s.referenceStyle = s.asset("reference.css", "text/css; charset=utf-8", []byte(api.ReferenceStyle()))
	s.addReference()
	for _, p := range s.pages {
		s.add(p.path, revalidate, func() (*staticfile.File, string) { return s.render(p), policy })
		s.add(p.path+".md", revalidate, func() (*staticfile.File, string) {
			return staticfile.New(markdownType, p.markdown()), policy
		})
	}
	s.add(searchPath, revalidate, func() (*staticfile.File, string) {
		return staticfile.New("application/json", s.index()), policy
	})
	s.add(LLMs, revalidate, func() (*staticfile.File, string) { return staticfile.New(markdownType, s.list()), policy })
	s.add(LLMsFull, revalidate, func() (*staticfile.File, string) { return staticfile.New(markdownType, s.full()), policy })
	s.addImages()
	return s
}

// add makes a path respond with what build returns, which is called once.
func (s *Site) add(path, caching string, build func() (*staticfile.File, string)) {
	s.responses[path] = sync.OnceValue(func() response {
		file, csp := build()
		return response{file: file, csp: csp, caching: caching}
	})
}

// asset adds a file below a name that changes with it, and returns its path.
func (s *Site) asset(name, mediaType string, text []byte) string {
	file := staticfile.New(mediaType, text)
	ext := path.Ext(name)
	at := assetsPath + strings.TrimSuffix(name, ext) + "." + file.Hash() + ext
	s.add(at, keep, func() (*staticfile.File, string) { return file, policy })
	return at
}

func (s *Site) addImages() {
	entries, err := docs.Files.ReadDir("images")
	if err != nil {
		panic("docsite: the embedded images can't be listed: " + err.Error())
	}
	for _, entry := range entries {
		name, mediaType := "images/"+entry.Name(), "image/webp"
		if path.Ext(name) == ".svg" {
			mediaType = "image/svg+xml"
		}
		s.add(Prefix+"/"+name, revalidate, func() (*staticfile.File, string) {
			return staticfile.New(mediaType, source(name)), policy
		})
	}
}

func read(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("docsite: an embedded file can't be read: " + err.Error())
	}
	return text
}

// Has reports whether the site has a path.
func (s *Site) Has(path string) bool { return s.responses[path] != nil }

// Serve responds to a GET or HEAD of a path of the site, or reports false if there
// is no such path.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) bool {
	build, ok := s.responses[r.URL.Path]
	if !ok {
		return false
	}
	found := build()
	w.Header().Set("Content-Security-Policy", found.csp)
	found.file.Serve(w, r, found.caching)
	return true
}

// view is what the template of a guide shows.
type view struct {
	Title                 string
	Body                  template.HTML
	Headings              []heading
	Sections              []section
	Path, Markdown        string
	Style, Base, Script   string
	Typeface, Icon        string
	Try                   string // of the reference
	Search                string
	Previous, Next        *page
	Reference, GuidesPath string
}

func (s *Site) render(p *page) *staticfile.File {
	parsed := p.parse()
	v := view{
		Title: p.Title, Body: template.HTML(parsed.html), Headings: parsed.headings,
		Sections: s.sections, //nolint:gosec // raw HTML is left out
		Path:     p.path, Markdown: p.path + ".md", Style: s.style, Base: s.referenceStyle, Script: s.script,
		Search: searchPath, Reference: Prefix, GuidesPath: indexPath,
		Typeface: assets.Path(assets.Typeface), Icon: assets.Path(assets.Icon),
	}
	v.Previous, v.Next = s.around(p)
	return staticfile.New(htmlType, execute("page", v))
}

// addReference adds the API reference: a page for each of its parts, and all of it on
// one page.
func (s *Site) addReference() {
	v := view{
		Sections: s.sections, Style: s.style, Script: s.script, Try: s.try, Search: searchPath, Reference: Prefix, GuidesPath: indexPath,
		Typeface: assets.Path(assets.Typeface), Icon: assets.Path(assets.Icon),
	}
	whole := api.Frame{
		Head: template.HTML(execute("head", v)),  //nolint:gosec // escaped by the template
		Nav:  template.HTML(execute("frame", v)), //nolint:gosec // escaped by the template
	}
	s.add(wholePath, revalidate, func() (*staticfile.File, string) {
		html, csp := api.Reference(whole)
		return staticfile.New(htmlType, html), csp
	})
	v.Base = s.referenceStyle
	frame := api.Frame{Head: template.HTML(execute("head", v)), Nav: whole.Nav} //nolint:gosec // escaped by the template
	s.parts = sync.OnceValue(func() []api.ReferencePart {
		return api.ReferenceParts(frame, api.ReferencePaths{First: Prefix, Below: callsPath, All: wholePath})
	})
	s.add(Prefix, revalidate, func() (*staticfile.File, string) { return staticfile.New(htmlType, s.parts()[0].HTML), policy })
	for i, slug := range api.ReferenceSlugs {
		s.add(callsPath+slug, revalidate, func() (*staticfile.File, string) { return staticfile.New(htmlType, s.parts()[i+1].HTML), policy })
	}
}

func execute(name string, v view) []byte {
	var out bytes.Buffer
	if err := markup.ExecuteTemplate(&out, name, v); err != nil {
		panic(fmt.Sprintf("docsite: template %s: %v", name, err))
	}
	return out.Bytes()
}
