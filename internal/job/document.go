package job

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Limits of a document.
const (
	// MaxDocumentItems is how many schedules a document may list, and how many one
	// call may remove.
	MaxDocumentItems = 1000
	// MaxDocumentEntries is how many schedules an owner may have.
	MaxDocumentEntries = 10_000
)

// Document lists the schedules that its owner should have. The owner is a name
// for where the document is kept, such as a repository. It is not the account.
type Document struct {
	// Owner is "" for a document whose schedules each name their owner, as an export of
	// all schedules has it.
	Owner string
	Items []DocumentItem
	// Prune removes schedules of the owner that the document doesn't list. All
	// permits that for a document that lists none.
	Prune, All bool
	DryRun     bool
}

// DocumentItem is a schedule of a document.
type DocumentItem struct {
	Key   string
	Owner string // "" for none
	Draft *Draft // with this key

	ownerGiven bool // it may be null
}

// DocumentEntry is a schedule that an owner has.
type DocumentEntry struct {
	ID       uuid.UUID
	Key      string
	Revision int64
}

// DocumentTag returns a tag of an owner's schedules, which are ordered by key. It
// changes when one of them is added, edited or removed.
func DocumentTag(entries []DocumentEntry) string {
	h := sha256.New()
	var b []byte
	for _, e := range entries {
		b = binary.AppendUvarint(b[:0], uint64(len(e.Key)))
		b = append(append(b, e.Key...), e.ID[:]...)
		h.Write(binary.AppendVarint(b, e.Revision))
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// documentFields are the fields of a document.
var documentFields = []string{"owner", "schedules", "prune", "dry_run", "all"}

// ReadDocument reads a document. Each schedule is read like a request of
// ReadSchedule, with options for its key. The error is a fault that lists every
// problem.
func ReadDocument(body rawjson.Value, options func(key *string) ReadOptions) (*Document, error) {
	r, err := newReader(body, "must be a JSON object with owner and schedules", ReadOptions{})
	if err != nil {
		return nil, err
	}
	r.take(rawjson.Members(body), documentFields)
	d := &Document{Prune: r.flag("prune"), All: r.flag("all"), DryRun: r.flag("dry_run")}
	schedules := r.fields["schedules"]
	items := rawjson.Elements(schedules)
	whole := len(r.fields["owner"]) == 0 && slices.ContainsFunc(items, namesOwner)
	if !whole {
		d.Owner = r.documentOwner()
	}
	switch {
	case whole && d.Prune:
		r.refuse("#/prune", "needs an owner of the whole document, whose other schedules are removed")
	case schedules.Kind() != '[':
		r.refuse("#/schedules", "must be an array of schedules")
	case len(items) > MaxDocumentItems:
		r.refuse("#/schedules", "must have at most %d elements, it has %d; use several documents with owners of their own",
			MaxDocumentItems, len(items))
		return nil, r.problems.Err()
	case len(items) == 0 && d.Prune && !d.All:
		r.refuse("#/schedules", "is empty, so prune would remove all schedules of the owner; give \"all\": true if that is meant")
	}
	first := map[string]int{}
	for i, item := range items {
		at := "#/schedules/" + strconv.Itoa(i)
		read, err := readDocumentItem(item, options)
		switch {
		case whole && !read.ownerGiven && item.Kind() == '{':
			r.refuse(at+"/owner", "must be given here too, or null for none, as other schedules of the document have one")
		case whole:
		case read.ownerGiven && read.Owner != d.Owner:
			r.refuse(at+"/owner", "is not that of the document; leave one of them out")
		default:
			read.Owner = d.Owner
		}
		for _, p := range fault.ProblemsOf(err) {
			p.Pointer = at + strings.TrimPrefix(p.Pointer, "#")
			r.problems.Add(p)
		}
		if read.Key != "" {
			if before, twice := first[read.Key]; twice {
				r.refuse("#/schedules/"+strconv.Itoa(before)+"/key", "is given twice, here and by element %d", i)
				r.refuse(at+"/key", "is given twice, here and by element %d", before)
			} else {
				first[read.Key] = i
			}
		}
		if err != nil && len(fault.ProblemsOf(err)) == 0 {
			return nil, err
		}
		d.Items = append(d.Items, read)
	}
	return d, r.problems.Err()
}

// flag reads an optional boolean.
func (r *reader) flag(name string) bool {
	v := r.fields[name]
	if len(v) > 0 && v.Kind() != 't' && v.Kind() != 'f' {
		r.refuse(Pointer(name), "must be true or false")
	}
	return v.Kind() == 't'
}

func (r *reader) documentOwner() string {
	owner, why := r.fields["owner"], ""
	switch {
	case len(owner) == 0:
		why = "must be given: a name for where the document is kept, such as a repository"
	case owner.Kind() != '"':
		why = "must be a string"
	default:
		why = WhyNotKey(rawjson.Text(owner))
	}
	if why != "" {
		r.refuse("#/owner", "%s", why)
	}
	return rawjson.Text(owner)
}

// WhyNotKey returns why text can't be a key or the owner of a document, or "".
func WhyNotKey(text string) string {
	if n := utf8.RuneCountInString(text); n < 1 || n > 255 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "must have 1 to 255 characters, and not U+0000"
	}
	return ""
}

// namesOwner reports whether a schedule of a document has an owner of its own.
func namesOwner(item rawjson.Value) bool {
	return item.Kind() == '{' && slices.ContainsFunc(rawjson.Members(item), func(m rawjson.Member) bool { return m.Name == "owner" })
}

// readDocumentItem reads a schedule of a document. Its key is set even if there
// are other problems.
func readDocumentItem(item rawjson.Value, options func(key *string) ReadOptions) (DocumentItem, error) {
	if item.Kind() != '{' {
		return DocumentItem{}, fault.Refuse([]fault.Problem{{Pointer: "#",
			Detail: "must be a JSON object with a key and the fields of a schedule"}})
	}
	var members []rawjson.Member
	var key, owner rawjson.Value
	var read DocumentItem
	for _, m := range rawjson.Members(item) {
		switch m.Name {
		case "key":
			key = m.Value
		case "owner":
			owner, read.ownerGiven = m.Value, true
		default:
			members = append(members, m)
		}
	}
	why := "must be given: it names the schedule"
	switch {
	case rawjson.IsNull(key):
	case key.Kind() != '"':
		why = "must be a string"
	default:
		why = WhyNotKey(rawjson.Text(key))
	}
	var problems fault.Problems
	if why != "" {
		problems.Add(fault.Problem{Pointer: "#/key", Detail: why})
	} else {
		read.Key = rawjson.Text(key)
	}
	if read.ownerGiven && !rawjson.IsNull(owner) {
		if read.Owner = rawjson.Text(owner); owner.Kind() != '"' || WhyNotKey(read.Owner) != "" {
			problems.Add(fault.Problem{Pointer: "#/owner", Detail: "must be a string of 1 to 255 characters without U+0000, or null"})
		}
	}
	var held *string
	if read.Key != "" {
		held = &read.Key
	}
	draft, err := ReadSchedule(rawjson.Object(members), options(held))
	for _, p := range fault.ProblemsOf(err) {
		problems.Add(p)
	}
	read.Draft = draft
	if err != nil && problems.Len() == 0 {
		return read, err
	}
	return read, problems.Err()
}

// AppendDocumentItem appends a schedule as a document lists it: with its key, its owner
// if the document has none, and the request that would create it.
func AppendDocumentItem(b []byte, s *Schedule, args rawjson.Value, withOwner bool) []byte {
	b = append(b, `{"key":`...)
	b = rawjson.AppendText(b, *s.Key)
	switch {
	case withOwner && s.Document == "":
		b = append(b, `,"owner":null`...)
	case withOwner:
		b = rawjson.AppendText(append(b, `,"owner":`...), s.Document)
	}
	for _, column := range []struct {
		name  string
		value *string
	}{{"name", s.Name}, {"description", s.Description}} {
		if column.value != nil {
			b = append(append(append(b, `,"`...), column.name...), `":`...)
			b = rawjson.AppendText(b, *column.value)
		}
	}
	if inner := args[1 : len(args)-1]; len(inner) > 0 {
		b = append(append(b, ','), inner...)
	}
	return append(b, '}')
}
