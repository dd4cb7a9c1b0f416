// Package docsite shows the documentation as a site of the service: [New] reads it,
// [Site.Serve] serves it. It has the guides, rendered from Markdown, beside the API
// reference, with navigation and search.
//
//   - /docs begins the reference, /docs/api/NAME is a part of it, /docs/api/all has it on
//     one page.
//   - /docs/guides is the list of pages, /docs/guides/NAME a
//     guide and /docs/guides/NAME.md its Markdown.
//   - /llms.txt lists the pages for programs that read, /llms-full.txt has them all.
//   - /docs/search.json is the index that the page's script searches.
//
// The order and the sections of the navigation come from docs/README.md. Raw HTML in
// Markdown is dropped, links between pages lead to the site, and links to other files of
// the repository lead to the public repository. A test follows every link.
//
// Each page is rendered when it is first requested, and kept. The pages work without
// scripts; the script adds search and buttons that copy.
package docsite
