package qstash

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const maxFilterBody = 1 << 20

// parameters returns the filters of a call: those in the query, and in calls that change
// messages those in a JSON body, where older clients send them. A body that is not read
// would be dangerous: a call without filters concerns all messages.
func (c *call) parameters() (url.Values, error) {
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, bad("the query can't be decoded")
	}
	if c.reads() {
		return values, nil
	}
	if err := c.readBody(values); err != nil {
		return nil, err
	}
	for name, given := range values {
		if name != "cursor" && slices.Contains(given, "") {
			return nil, emptyFilter(name)
		}
	}
	return values, nil
}

// reads reports whether a call changes nothing.
func (c *call) reads() bool {
	return c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
}

// emptyFilter returns the error for a filter without a value, which would select all
// messages: its sender hardly means that.
func emptyFilter(name string) error {
	return bad(strconv.Quote(name) + " is empty; omit it to select all messages")
}

// readBody adds the filters in a call's body.
func (c *call) readBody(values url.Values) error {
	body, err := c.ReadAll(maxFilterBody)
	if err != nil {
		return err
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		return nil
	}
	leave, err := c.EnterParsing(len(body))
	if err != nil {
		return err
	}
	defer leave()
	filters, err := rawjson.Read(body)
	if err != nil || filters.Kind() != '{' {
		return bad("the body must be a JSON object of filters")
	}
	for _, m := range rawjson.Members(filters) {
		if err := addFilter(values, m); err != nil {
			return err
		}
	}
	return nil
}

// addFilter adds the values of a member of a body.
func addFilter(values url.Values, m rawjson.Member) error {
	if m.Value.Kind() != '[' {
		return addFilterValue(values, m.Name, m.Value)
	}
	items := rawjson.Elements(m.Value)
	if len(items) == 0 {
		return emptyFilter(m.Name)
	}
	for _, item := range items {
		if err := addFilterValue(values, m.Name, item); err != nil {
			return err
		}
	}
	return nil
}

func addFilterValue(values url.Values, name string, value rawjson.Value) error {
	switch value.Kind() {
	case '"':
		values.Add(name, rawjson.Text(value))
	case '0', 't', 'f':
		values.Add(name, string(value))
	default:
		return bad(strconv.Quote(name) + " must be a string, a number or a list of these")
	}
	return nil
}
