// Package view has the pages of the dashboard: a templ component for each page
// or live part, and its view model.
//
// A view model is a plain struct with everything that the page shows. Handlers in
// package dashboard fill it; components only render it. So this package imports
// neither service nor store, which internal/archtest verifies, and a page can be
// rendered in a test without a server.
//
// Names follow one pattern: the model [Jobs] is rendered by [JobsPage], a whole
// page inside [ui.Frame], and by [JobsPart], the live part that the browser
// fetches again after an event. Each .templ file has a Go file of the same name
// with its models and helper functions. Words and symbols that explain records, such
// as the timeline of a job, are computed here from the records in the model.
package view
