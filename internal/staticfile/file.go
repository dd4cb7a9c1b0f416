package staticfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// File is a text that is ready to be sent. It must not be changed.
type File struct {
	mediaType string
	plain     []byte
	gzip      func() []byte // compresses on the first call
	hash      string
}

// New returns the file of a text, which it keeps.
func New(mediaType string, text []byte) *File {
	sum := sha256.Sum256(text)
	compressed := sync.OnceValue(func() []byte { return compress(text) })
	return &File{mediaType: mediaType, plain: text, gzip: compressed, hash: hex.EncodeToString(sum[:6])}
}

// Hash returns 12 hexadecimal digits that change with the text.
func (f *File) Hash() string { return f.hash }

// Size returns how many bytes the text has, and how many it has compressed.
func (f *File) Size() (plain, compressed int) { return len(f.plain), len(f.gzip()) }

// Bytes returns a copy of the text.
func (f *File) Bytes() []byte { return bytes.Clone(f.plain) }

func compress(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// Serve responds to a GET or HEAD with the file. cacheControl is the header of that
// name.
func (f *File) Serve(w http.ResponseWriter, r *http.Request, cacheControl string) {
	header := w.Header()
	header.Set("Cache-Control", cacheControl)
	header.Set("Vary", "Accept-Encoding")
	// Weak, because both encodings have the same tag.
	tag := `W/"` + f.hash + `"`
	header.Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", f.mediaType)
	body := f.plain
	if AcceptsGzip(r) && len(f.gzip()) < len(body) {
		header.Set("Content-Encoding", "gzip")
		body = f.gzip()
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// matches reports whether a list of entity tags has the tag, compared as weak ones.
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// AcceptsGzip reports whether the request lists gzip without the weight 0.
func AcceptsGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, weighted := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			return !weighted || strings.Trim(q, "0.") != ""
		}
	}
	return false
}
