// Package access decides who may call what. Edges put the caller's role into the context
// with [With]; the methods of packages service, auth and secret call [Allow] first.
// [Least] is the one table: the least role that each method needs.
//
// A context without a role is the service's own: the engine, commands and background
// work are not restricted. Which account a caller belongs to is not decided here.
package access
