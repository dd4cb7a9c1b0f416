// Package ui is the look of the dashboard: the frame around every page and the
// parts pages are put together from, as templ components.
//
// Parts know nothing of routes, stores or rules. What all of them may ask for
// (who looks, what time it is, which path this is) is a [View], which the
// server puts into the context of each request; [Href] uses it so that the same
// page links rightly under / and under /public.
//
// The rules of the house, which tests and the browser enforce: no inline
// script, style element or style attribute (the Content-Security-Policy refuses
// them; plots use presentation attributes and classes); status is text with a
// mark, never colour alone; every input has a label ([Field]); every time is a
// <time> ([Time]); what JavaScript adds is missing without it, and nothing that
// matters is. Class names are those of assets/static/app.css, which is ordered
// as this package is: frame, parts, forms, plots.
//
// The files: frame.templ (whole pages), parts.templ (badges, times, urls, code,
// tables' furniture), forms.templ (fields, confirmations), plot.templ (small
// charts), icons.templ, and format.go for words and numbers.
//
// After changing a .templ file run `go generate ./internal/dashboard` and commit
// what it writes.
package ui
