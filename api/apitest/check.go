package apitest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// Check returns what the document does not allow in an exchange; nil when all of
// it is as documented. The path may carry a query.
func (v *Validator) Check(method, path string, reqHeader http.Header, reqBody []byte, status int, respHeader http.Header,
	respBody []byte) error {
	where := fmt.Sprintf("%s %s -> %d", method, shorten(path), status)
	path, _, _ = strings.Cut(path, "?")
	response, op, err := v.response(method, path, status)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if err := v.checkHeaders(response, respHeader); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if err := v.checkContent(response, method, respHeader, respBody); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if op != nil && status/100 == 2 {
		if err := v.checkRequest(op, reqHeader, reqBody); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

// response finds what the document says of a status, and the operation when
// there is one.
func (v *Validator) response(method, path string, status int) (response, op *tree.Node, err error) {
	r := v.find(path)
	if r == nil {
		response, err = v.offRoute(status, http.StatusNotFound, "a path that the document does not know")
		return response, nil, err
	}
	op = r.methods[method]
	if op == nil && method == http.MethodHead {
		op = r.methods[http.MethodGet]
	}
	if op == nil {
		response, err = v.offRoute(status, http.StatusMethodNotAllowed, "a method that the document does not know")
		return response, nil, err
	}
	responses := op.Get("responses")
	for _, key := range []string{strconv.Itoa(status), fmt.Sprintf("%dXX", status/100), "default"} {
		if response := responses.Get(key); response != nil {
			return response, op, nil
		}
	}
	return nil, nil, fmt.Errorf("%s documents no such status", op.Get("operationId"))
}

// offRoute is the response to a request that belongs to no operation. Limits and
// outages may come first.
func (v *Validator) offRoute(status, want int, what string) (*tree.Node, error) {
	switch status {
	case want, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		for _, m := range v.doc.Get("components", "responses").All() {
			schema := m.Value.Get("content", problemType, "schema")
			for _, part := range schema.Get("allOf").List() {
				if part.Get("properties", "status", "const").String() == strconv.Itoa(status) {
					return m.Value.Resolve(), nil
				}
			}
		}
		return nil, fmt.Errorf("the document has no problem with status %d", status)
	}
	return nil, fmt.Errorf("%s must answer %d", what, want)
}

const problemType = "application/problem+json"

func (v *Validator) checkHeaders(response *tree.Node, have http.Header) error {
	for _, m := range response.Get("headers").All() {
		values := have.Values(m.Key)
		header := m.Value.Resolve()
		if len(values) == 0 {
			if header.Get("required").String() == "true" {
				return fmt.Errorf("the header %s is missing", m.Key)
			}
			continue
		}
		text := strings.Join(values, ", ")
		var value any = text
		if header.Get("schema", "type").String() == "integer" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("the header %s is %q, not a whole number", m.Key, text)
			}
			value = n
		}
		if err := v.validate(header.Member("schema"), value); err != nil {
			return fmt.Errorf("the header %s: %w", m.Key, err)
		}
	}
	return nil
}

func (v *Validator) checkContent(response *tree.Node, method string, header http.Header, body []byte) error {
	contents := response.Get("content")
	if contents == nil {
		if len(body) != 0 {
			return fmt.Errorf("the document says no body, got %s", shorten(string(body)))
		}
		return nil
	}
	media, content, err := match(contents, header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if method == http.MethodHead || !isJSON(media) {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w: %s", err, shorten(string(body)))
	}
	if err := v.validate(content.Member("schema"), value); err != nil {
		return fmt.Errorf("the body: %w\n\tin %s", err, shorten(string(body)))
	}
	return nil
}

// checkRequest holds a JSON body that was accepted against its schema. A
// missing content type counts as JSON, as it does for the service.
func (v *Validator) checkRequest(op *tree.Node, header http.Header, body []byte) error {
	content := op.Get("requestBody", "content", "application/json")
	if content == nil || len(body) == 0 {
		return nil
	}
	if ct := header.Get("Content-Type"); ct != "" {
		media, _, err := mime.ParseMediaType(ct)
		if err != nil || !isJSON(media) {
			return nil
		}
	}
	text := io.Reader(bytes.NewReader(body))
	if strings.HasSuffix(header.Get("Content-Encoding"), "gzip") {
		decoded, err := gzip.NewReader(text)
		if err != nil {
			return fmt.Errorf("the service accepted a request body that is not gzip: %w", err)
		}
		text = decoded
	}
	value, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		return fmt.Errorf("the service accepted a request body that is not JSON: %w", err)
	}
	if err := v.validate(content.Member("schema"), value); err != nil {
		return fmt.Errorf("the service accepted a request body that the document refuses: %w", err)
	}
	return nil
}

func match(contents *tree.Node, contentType string) (string, *tree.Node, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", nil, fmt.Errorf("the content type %q can't be read: %w", contentType, err)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", nil, fmt.Errorf("the content type %q names another charset than utf-8", contentType)
	}
	var known []string
	for _, m := range contents.All() {
		if m.Key == media {
			return media, m.Value, nil
		}
		known = append(known, m.Key)
	}
	return "", nil, fmt.Errorf("the content type is %q, documented is %s", contentType, strings.Join(known, " or "))
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
