// Package ui has the components that all pages of the dashboard share, written in templ:
// the frame around a page ([Frame]), badges, times, forms and plots.
//
// Components know nothing about routes, stores or rules. What they need to know
// about the request (the viewer, the time, the path) is in a [View], which the
// server puts into each request's context. [Href] uses it so that one page links
// correctly both under / and under /public.
//
// Components follow these rules, which browser tests verify:
//
//   - No inline script, style element or style attribute: the
//     Content-Security-Policy blocks them. Plots use presentation attributes and
//     classes.
//   - A status is text with an icon, never colour alone.
//   - Every input has a label ([Field]), and every time is a <time> ([Time]).
//   - JavaScript only adds conveniences: every page works without it.
//
// Class names are those of assets/static/app.css, which has the same order as
// this package: frame, parts, forms, plots.
//
// frame.templ has whole pages; parts.templ badges, times, URLs, code and tables;
// forms.templ fields and confirmations; plot.templ and strip.templ small charts;
// icons.templ icons. The types and functions that a component uses are in the Go
// file of the same name, and format.go formats words and numbers.
//
// After changing a .templ file, run `go generate ./internal/dashboard` and commit
// the generated files.
package ui
