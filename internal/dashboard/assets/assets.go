package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Prefix is the path prefix of assets.
const Prefix = "/assets/"

//go:embed static
var files embed.FS

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// asset is one file, ready to be sent.
type asset struct {
	mediaType    string
	plain, small []byte // small is compressed
}

// paths maps the name of a file to its path, and served maps paths to assets.
var paths, served = load()

func load() (map[string]string, map[string]asset) {
	paths, served := map[string]string{}, map[string]asset{}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		panic("assets: the embedded files can't be listed: " + err.Error())
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(files, "static/"+entry.Name())
		if err != nil {
			panic("assets: an embedded file can't be read: " + err.Error())
		}
		sum := sha256.Sum256(text)
		ext := path.Ext(entry.Name())
		at := Prefix + strings.TrimSuffix(entry.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		paths[entry.Name()] = at
		served[at] = asset{mediaTypes[ext], text, compress(text)}
	}
	return paths, served
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(text)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

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
func ServeIcon(w http.ResponseWriter) {
	a := served[Path(Icon)]
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = w.Write(a.plain) // the browser may have disconnected
}

// Serve responds with the asset at the request's path, or reports false if there is
// none.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	a, ok := served[r.URL.Path]
	if !ok {
		return false
	}
	header := w.Header()
	header.Set("Content-Type", a.mediaType)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Vary", "Accept-Encoding")
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = a.small
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the browser may have disconnected
	}
	return true
}
