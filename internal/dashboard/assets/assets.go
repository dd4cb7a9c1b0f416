package assets

import (
	"bytes"
	"cmp"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/staticfile"
)

// Prefix is the path prefix of assets.
const Prefix = "/assets/"

//go:embed static
var files embed.FS

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

// paths maps the name of a file to its path, and served maps paths to assets.
var paths, served = load()

func load() (map[string]string, map[string]*staticfile.File) {
	paths, served := map[string]string{}, map[string]*staticfile.File{}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		panic("assets: the embedded files can't be listed: " + err.Error())
	}
	// The typeface is first: style sheets contain its path.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(rank(a), rank(b)) })
	for _, entry := range entries {
		text, err := fs.ReadFile(files, "static/"+entry.Name())
		if err != nil {
			panic("assets: an embedded file can't be read: " + err.Error())
		}
		ext := path.Ext(entry.Name())
		if ext == ".css" {
			text = bytes.ReplaceAll(text, []byte(`url("`+Typeface+`")`), []byte(`url("`+paths[Typeface]+`")`))
		}
		file := staticfile.New(mediaTypes[ext], text)
		at := Prefix + strings.TrimSuffix(entry.Name(), ext) + "." + file.Hash() + ext
		paths[entry.Name()] = at
		served[at] = file
	}
	return paths, served
}

func rank(entry fs.DirEntry) int {
	if entry.Name() == Typeface {
		return 0
	}
	return 1
}

// Typeface is the name of the typeface of all pages.
const Typeface = "inter.woff2"

// Path returns the path of a file. It panics if there is no such file, which
// rendering any page that uses it reveals.
func Path(name string) string {
	at, ok := paths[name]
	if !ok {
		panic("assets: there is no file " + name)
	}
	return at
}

// Icon is the name of the logo.
const Icon = "mark.svg"

// ServeIcon responds with the logo, for clients that ask for /favicon.ico.
func ServeIcon(w http.ResponseWriter, r *http.Request) {
	served[Path(Icon)].Serve(w, r, "public, max-age=86400")
}

// Serve responds with the asset at the request's path, or reports false if there is
// none.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	file, ok := served[r.URL.Path]
	if ok {
		file.Serve(w, r, "public, max-age=31536000, immutable")
	}
	return ok
}
