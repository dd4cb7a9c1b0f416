// Package docs has the documentation: README.md lists its pages, guides has those
// for users, and adr the decisions behind the code. The pages for users are
// embedded, so that the service can show them; package docsite renders them.
package docs

import "embed"

// Files has README.md, which lists the pages in their order, and the pages that it
// lists, with the images that they show.
//
//go:embed README.md comparison.md performance.md reliability.md guides/*.md images/jobs-phone.webp images/soak-*.svg
var Files embed.FS
