package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// list iterates over a list, page after page. An error is the last item.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for {
			got, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query})
			if err != nil {
				yield(none, err)
				return
			}
			page, err := decode[enveloped[[]T]](got)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
			next, err := nextPage(got.header, path)
			if err != nil {
				yield(none, err)
			}
			if next == nil || err != nil {
				return
			}
			if next.Encode() == query.Encode() {
				yield(none, errors.New("punctual: the next page is the same page"))
				return
			}
			query = next
		}
	}
}

// nextPage returns the query of the link to the next page, nil if there is none.
// Only the query of a link is used, so that the key stays with the service.
func nextPage(header http.Header, path string) (url.Values, error) {
	for _, line := range header.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, parameters, _ := strings.Cut(strings.TrimSpace(link), ";")
			relation := strings.ReplaceAll(strings.ReplaceAll(parameters, `"`, ""), " ", "")
			if relation != "rel=next" {
				continue
			}
			next, err := url.Parse(strings.Trim(target, "<>"))
			if err != nil || !strings.HasSuffix(next.Path, path) {
				return nil, fmt.Errorf("punctual: the link to the next page leads elsewhere: %s", target)
			}
			return next.Query(), nil
		}
	}
	return nil, nil
}
