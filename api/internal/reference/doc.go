// Package reference renders an OpenAPI document as one HTML page for people.
//
// The page is laid out in the order the document was written in: how to begin,
// then the calls by tag, then what the service sends, then the records. What a
// person reads comes first, what a table needs after it. Titles of schemas are
// the words for types ("timestamp", "https URL"); without a title the words are
// made from the schema.
//
// Rendering goes in two steps. The document becomes a view (view.go), plain
// structs with every decision made; html/template writes the view down, and
// escapes it. Only the two writers that make markup themselves, for prose and
// for JSON, hand over finished HTML, and both escape everything they are given.
//
// The page needs no script and nothing from elsewhere. Its style sheet stands
// in the page and is named by hash in the policy beside it. A Frame adds what the
// site around it has: links, a style sheet and a script.
package reference
