package job

import (
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxTags is how many tags a job can have, and how many a list can be filtered
// by.
const MaxTags = 10

// Labels are the values in a record's args that lists are filtered by.
type Labels struct {
	// Host is the host name of the url, in lower case and without the port; "" if
	// the url can't be read.
	Host string
	Tags []string
}

// LabelsOf reads the labels from validated args. Stores index them.
func LabelsOf(args rawjson.Value) Labels {
	var l Labels
	if args.Kind() != '{' {
		return l
	}
	c := rawjson.Walk(args)
	for c.Enter(); c.More(); {
		name := rawjson.Text(c.Name())
		value := c.Value()
		switch name {
		case "url":
			l.Host = Host(rawjson.Text(value))
		case "tags":
			for _, tag := range rawjson.Elements(value) {
				l.Tags = append(l.Tags, rawjson.Text(tag))
			}
		}
	}
	return l
}

// TagRule says what a tag is.
const TagRule = "must be 1 to 64 characters: a letter a to z or a digit, then these and : . _ -"

func readTags(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '[' {
		r.refuse(Pointer(f.Name), "must be a list of strings")
		return
	}
	tags := rawjson.Elements(v)
	if len(tags) > MaxTags {
		r.refuse(Pointer(f.Name), "must have at most %d tags, it has %d", MaxTags, len(tags))
		return
	}
	seen := map[string]bool{}
	for i, tag := range tags {
		text := rawjson.Text(tag)
		switch {
		case tag.Kind() != '"' || !IsTag(text):
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), TagRule)
		case seen[text]:
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), "is a repetition of another tag; leave it out")
		}
		seen[text] = true
	}
}

// IsTag reports whether a text can be a tag: a letter a to z or a digit, then up
// to 63 of these and of : . _ -
func IsTag(text string) bool {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	return len(text) >= 1 && len(text) <= 64 && strings.IndexByte(first, text[0]) >= 0 && strings.Trim(text, first+":._-") == ""
}
