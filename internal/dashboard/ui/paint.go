package ui

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// maxMarks bounds the coloured tokens of a text; the rest of it has no colours.
const maxMarks = 600

// Paint returns a text that Pretty has formatted, or its beginning, as HTML with a
// class for each token: "jk" for names, "js" for strings, "jn" for numbers and "jl"
// for literals.
func Paint(text string) string {
	var b strings.Builder
	marks := 0
	for at := 0; at < len(text); {
		end, class := token(text, at)
		if marks == maxMarks {
			end, class = len(text), ""
		}
		piece := templ.EscapeString(text[at:end])
		if class == "" {
			b.WriteString(piece)
		} else {
			b.WriteString(`<span class="` + class + `">` + piece + `</span>`)
			marks++
		}
		at = end
	}
	return b.String()
}

// token returns the end and the class of what begins at a place of a JSON text; ""
// for what has no colour.
func token(text string, at int) (end int, class string) {
	switch c := text[at]; {
	case c == '"':
		end = stringEnd(text, at)
		if strings.HasPrefix(strings.TrimLeft(text[end:], " "), ":") {
			return end, "jk"
		}
		return end, "js"
	case c == '-' || c >= '0' && c <= '9':
		return at + spanOf(text[at:], "+-.0123456789eE"), "jn"
	case c >= 'a' && c <= 'z':
		return at + spanOf(text[at:], "abcdefghijklmnopqrstuvwxyz"), "jl"
	}
	for end = at + 1; end < len(text); end++ {
		if c := text[end]; c == '"' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			break
		}
	}
	return end, ""
}

// stringEnd returns the end of the string that begins at a place.
func stringEnd(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// spanOf returns how many of the first bytes of a text are among chars.
func spanOf(text, chars string) int {
	return len(text) - len(strings.TrimLeft(text, chars))
}

// maxHeaders is how many headers HeaderTable shows.
const maxHeaders = 100

// header is a row of HeaderTable.
type header struct{ name, value string }

// headerRows returns the headers of a request or response, and how many there are
// besides. A header with several values has a row for each.
func headerRows(v rawjson.Value) (rows []header, left int) {
	room := maxShown
	for _, m := range rawjson.Members(v) {
		values := []rawjson.Value{m.Value}
		if m.Value.Kind() == '[' {
			values = rawjson.Elements(m.Value)
		}
		for _, value := range values {
			name, _ := Clip(m.Name, 300)
			text := string(value)
			if value.Kind() == '"' {
				text = rawjson.Text(value)
			}
			if text, _ = Clip(text, 1000); len(rows) == maxHeaders || room < len(name)+len(text) {
				left++
				continue
			}
			room -= len(name) + len(text)
			rows = append(rows, header{name, text})
		}
	}
	return rows, left
}
