package httpapi

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// part is the text of an item of a batch, which may be no JSON.
type part struct {
	text []byte
	name string // of the item, for people: "line 3"
}

var errNoItems = fault.Refuse([]fault.Problem{{Pointer: "#", Detail: "must have at least one item"}})

func tooManyItems(most int) error {
	return fault.New(fault.TooLarge, "a batch has at most "+strconv.Itoa(most)+" items; send the rest in another one")
}

// splitLines returns the lines of a text that are not blank.
func splitLines(text []byte, most int) ([]part, error) {
	var parts []part
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.Trim(line, " \t\r\n"); len(line) == 0 {
			continue
		}
		if len(parts) == most {
			return nil, tooManyItems(most)
		}
		parts = append(parts, part{line, "line " + strconv.Itoa(number)})
	}
	if len(parts) == 0 {
		return nil, errNoItems
	}
	return parts, nil
}

// splitArray returns the elements of a JSON array. It checks what is between them;
// whoever reads an element checks that.
func splitArray(text []byte, most int) ([]part, error) {
	rest := bytes.TrimLeft(text, jsonSpace)
	if len(rest) == 0 || rest[0] != '[' {
		if _, err := rawjson.Read(text); err != nil {
			return nil, unreadable("the body is not readable JSON", err)
		}
		return nil, fault.Refuse([]fault.Problem{{Pointer: "#", Detail: "must be an array of jobs; send one job to POST /api/jobs"}})
	}
	var parts []part
	rest = bytes.TrimLeft(rest[1:], jsonSpace)
	for more := len(rest) == 0 || rest[0] != ']'; more; {
		if len(rest) == 0 {
			return nil, unreadable("the body is not readable JSON", errors.New("it ends too early"))
		}
		if len(parts) == most {
			return nil, tooManyItems(most)
		}
		element := rawjson.First(rest)
		parts = append(parts, part{element, "item " + strconv.Itoa(len(parts)+1)})
		rest = bytes.TrimLeft(rest[len(element):], jsonSpace)
		switch {
		case len(rest) == 0:
			continue // reports the end
		case rest[0] == ',':
			rest = bytes.TrimLeft(rest[1:], jsonSpace)
		case rest[0] == ']':
			more = false
		default:
			return nil, fault.New(fault.Unreadable, "the body is not readable JSON: there must be a comma or a bracket after item "+
				strconv.Itoa(len(parts)))
		}
	}
	if rest = bytes.TrimLeft(rest[1:], jsonSpace); len(rest) > 0 {
		return nil, fault.New(fault.Unreadable, "the body is not readable JSON: something follows the array")
	}
	if len(parts) == 0 {
		return nil, errNoItems
	}
	return parts, nil
}

const jsonSpace = " \t\r\n"
