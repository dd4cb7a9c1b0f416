// Package rawjson reads and writes JSON without losing anything.
//
// Clients' JSON passes through punctual unharmed: numbers keep their literals,
// members their order, strings every code point. So JSON is held as text
// ([jsontext.Value]) that was checked and compacted once, by [Read], and taken
// apart only where a part of it is needed. The strict syntax (no duplicate
// names, no invalid UTF-8, no lone surrogates, nothing trailing) is that of
// RFC 8259 and RFC 7493 as jsontext implements it.
//
// What lives here knows JSON only; jobs and their fields are elsewhere.
package rawjson
