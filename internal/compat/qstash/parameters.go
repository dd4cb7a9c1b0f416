package qstash

import (
	"bytes"
	"net/http"
	"net/url"
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
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		return values, nil
	}
	body, err := c.ReadAll(maxFilterBody)
	if err != nil {
		return nil, err
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		return values, nil
	}
	leave, err := c.EnterParsing(len(body))
	if err != nil {
		return nil, err
	}
	defer leave()
	filters, err := rawjson.Read(body)
	if err != nil || filters.Kind() != '{' {
		return nil, bad("the body must be a JSON object of filters")
	}
	for _, m := range rawjson.Members(filters) {
		if err := addFilter(values, m); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// addFilter adds the values of a member of a body. One without a value is refused: it
// would select all messages, which its sender hardly means.
func addFilter(values url.Values, m rawjson.Member) error {
	if m.Value.Kind() != '[' {
		return addFilterValue(values, m.Name, m.Value)
	}
	items := rawjson.Elements(m.Value)
	if len(items) == 0 {
		return bad(strconv.Quote(m.Name) + " is empty; omit it to select all messages")
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
