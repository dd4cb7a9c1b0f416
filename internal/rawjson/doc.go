// Package rawjson reads and writes JSON without losing anything: [Read] checks a text,
// [Walk] and Index find parts of it.
//
// Clients' JSON passes through punctual unchanged: numbers keep their literals,
// members their order, strings every code point. JSON is therefore kept as text
// ([jsontext.Value]), which [Read] checks and compacts once, and is parsed only where
// a part of it is needed. The strict syntax (no duplicate
// names, no invalid UTF-8, no lone surrogates, nothing trailing) is that of
// RFC 8259 and RFC 7493 as jsontext implements it.
//
// The package knows nothing of jobs and their fields.
package rawjson
