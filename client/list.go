package client

import (
	"context"
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
		for got, err := range c.Pages(ctx, Request{Path: path, Query: query}) {
			var page enveloped[[]T]
			if err == nil {
				page, err = decode[enveloped[[]T]](got)
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
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
				return nil, fmt.Errorf("%w leads elsewhere: %s", ErrNextPage, target)
			}
			return next.Query(), nil
		}
	}
	return nil, nil
}
