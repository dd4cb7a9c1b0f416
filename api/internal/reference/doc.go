// Package reference renders an OpenAPI document as one HTML page, or as
// one for each part: call [Render] or [RenderParts].
//
// The page has the order of the document: how to begin, the calls by tag, what the
// service sends, the records. Titles of schemas are the words for types ("timestamp",
// "https URL"); without a title the words are made from the schema.
//
// Rendering has two steps. The document becomes a view (view.go), plain structs with
// every decision made; html/template renders the view and escapes it. Only the writers
// for prose and for JSON make markup themselves, and both escape everything that they
// are given.
//
// The page needs no script and loads nothing. Its style sheet is inline and named by
// hash in the policy. A Frame adds the links, style sheet and script of the site around
// it.
package reference
