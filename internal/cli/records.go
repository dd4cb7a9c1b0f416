package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// print prints the service's response, indented.
func (c *displayFlags) print(env *environment, record []byte, err error) error {
	if err != nil {
		return err
	}
	if !json.Valid(record) {
		return unreadable(fmt.Errorf("%d bytes are not JSON", len(record)))
	}
	text := indented(record)
	if env.terminal.interactive {
		text = safeJSON(text)
	}
	_, err = fmt.Fprintf(env.out, "%s\n", text)
	return err
}

// indented returns JSON in lines, without a last line break; text that is none is
// returned as it is.
func indented(text []byte) []byte {
	text = bytes.TrimSpace(text)
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return text
	}
	return b.Bytes()
}

// safeJSON returns the same JSON value with the characters escaped that could
// change a terminal. JSON has them in strings only.
func safeJSON(text []byte) []byte {
	if bytes.IndexFunc(text, unsafeInJSON) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !unsafeInJSON(r):
			out = append(out, text[:n]...)
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
		text = text[n:]
	}
	return out
}

func unsafeInJSON(r rune) bool { return r != '\n' && unsafeRune(r) }

// decoded is a record or a list of the API in the form that is shown.
func decoded[T any](record []byte) (T, error) {
	var v T
	if err := json.Unmarshal(record, &v); err != nil {
		return v, unreadable(err)
	}
	return v, nil
}

// printOne prints a record in the form that the flags ask for: as JSON, its id, or
// as text does.
func printOne[T any](c *displayFlags, env *environment, record []byte, err error, id func(*T) string, text func(*T) error) error {
	if err != nil || c.JSON {
		return c.print(env, record, err)
	}
	v, err := decoded[T](record)
	if err != nil {
		return err
	}
	if c.Quiet {
		return printIDs(env, []T{v}, id)
	}
	return text(&v)
}

// listing is how a command shows records of one kind.
type listing[T any] struct {
	id      func(*T) string
	none    string // the sentence for an empty table
	columns []column
	row     func(terminal, *T) []string
}

// print prints records in the form that the flags ask for: as JSON, ids, or a table.
func (l listing[T]) print(c *displayFlags, env *environment, records []byte, err error) error {
	if err != nil || c.JSON {
		return c.print(env, records, err)
	}
	all, err := decoded[[]T](records)
	if err != nil {
		return err
	}
	if c.Quiet {
		return printIDs(env, all, l.id)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(env.out, l.none)
		return err
	}
	t, to := table{columns: l.columns}, c.terminal(env)
	for i := range all {
		t.add(l.row(to, &all[i])...)
	}
	return t.print(env.out, to)
}

// printIDs prints an id in each line.
func printIDs[T any](env *environment, all []T, id func(*T) string) error {
	for i := range all {
		if _, err := fmt.Fprintln(env.out, printable(id(&all[i]))); err != nil {
			return err
		}
	}
	return nil
}

// say prints a sentence unless only ids are to be printed.
func (c *displayFlags) say(env *environment, format string, args ...any) error {
	if c.Quiet {
		return nil
	}
	_, err := fmt.Fprintf(env.out, format+"\n", args...)
	return err
}

// listFlags limit a list.
type listFlags struct {
	Limit string `default:"20" placeholder:"N" help:"How many, from 1 to 10000."`
}

const (
	pageMost = 100    // records on a page of the API
	listMost = 10_000 // records that a command lists
)

// list reads as many records as the flags ask for, page by page.
func (c *serviceFlags) list(env *environment, path string, query url.Values, limit string) (records []byte, err error) {
	n, valid := wholeUpTo(limit, listMost)
	if !valid {
		return nil, failed(statusUsage, "--limit must be a whole number from 1 to %d, not %q", listMost, limit)
	}
	session, err := c.session(env)
	if err != nil {
		return nil, err
	}
	var all []rawjson.Value
	size := 0
	query.Set("limit", fmt.Sprint(min(n, pageMost)))
	for got, err := range session.client(client.Config{MaxRetries: -1}).Pages(env.ctx, client.Request{Path: path, Query: query}) {
		if err != nil {
			return nil, session.failure(env, err)
		}
		page, err := c.data(env, got)
		if err != nil {
			return nil, err
		}
		if rawjson.Value(page).Kind() != '[' {
			return nil, c.notPunctual(env)
		}
		if size += len(page); size > maxResponse {
			return nil, fmt.Errorf("the list is longer than %d bytes; give a smaller --limit, or filters", maxResponse)
		}
		if all = append(all, rawjson.Elements(page)...); len(all) >= n {
			break
		}
	}
	return rawjson.Array(all[:min(n, len(all))]), nil
}

// wholeUpTo reads a whole number from 1 to most.
func wholeUpTo(text string, most int) (int, bool) {
	n := 0
	for _, r := range text {
		if r < '0' || r > '9' || n > most {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	return n, n >= 1 && n <= most
}

// readInput reads a file, or standard input for "-", of at most a number of bytes.
func readInput(env *environment, path string, most int64) ([]byte, error) {
	in, name := env.in, inputName(path)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return text, nil
}

// inputName returns how messages name a file.
func inputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// maxInput bounds the files with a request, in bytes: more than the service takes.
const maxInput = 9 << 20

// readFields reads the fields of a request from a file with a JSON or YAML object;
// "" has none.
func readFields(env *environment, path string) ([]rawjson.Member, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readInput(env, path, maxInput)
	if err != nil {
		return nil, err
	}
	objects, err := parseObjects(inputName(path), text)
	switch {
	case err == nil && len(objects) == 0:
		err = fmt.Errorf("%s: it is empty", inputName(path))
	case err == nil && len(objects) > 1:
		err = fmt.Errorf("%s: it has %d objects", inputName(path), len(objects))
	}
	if err != nil {
		return nil, fmt.Errorf("the file must be a JSON or YAML object with fields of the API: %w", err)
	}
	return objects[0], nil
}

// setField sets a field of a request, in place of one that is there.
func setField(members []rawjson.Member, name string, v rawjson.Value) []rawjson.Member {
	for i := range members {
		if members[i].Name == name {
			members[i].Value = v
			return members
		}
	}
	return append(members, rawjson.Member{Name: name, Value: v})
}

// withoutFields returns the fields of a request that have none of the names.
func withoutFields(members []rawjson.Member, names ...string) []rawjson.Member {
	return slices.DeleteFunc(members, func(m rawjson.Member) bool { return slices.Contains(names, m.Name) })
}

// hasField reports whether a request has a field.
func hasField(members []rawjson.Member, name string) bool {
	return slices.ContainsFunc(members, func(m rawjson.Member) bool { return m.Name == name })
}
