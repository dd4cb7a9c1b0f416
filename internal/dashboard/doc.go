// Package dashboard serves the pages of punctual: signing in, jobs, schedules, logs
// and settings. [New] returns a Server; [Server.Wrap] adds the pages to the handler of
// the API.
//
// The package translates between browsers and the packages below, and has no rules
// of its own. A handler reads and changes records through package service, for the
// viewer's account only, secrets through package secret, and accounts through auth,
// audit and quota. It never uses the store. It fills a view model of package view,
// whose components render the page with the parts in package ui. Package assets has
// the style and the scripts.
//
// # How a request is handled
//
// [Server.Wrap] serves the dashboard's paths and passes all others on to the API. A
// browser that requests an unknown page gets an error page. Before the handler come:
//
//   - security headers (security.go)
//   - protection against requests that other sites forge
//     (http.CrossOriginProtection)
//   - the viewer: the account of the session or, under /public, the account of the
//     public key (session.go). Handlers read c.viewer and never a cookie.
//   - limits (limits.go)
//
// A handler is a method `func (s *Server) jobs(c *call) error`. An error that it
// returns becomes an error page: a fault shows its message, and any other error is
// logged and shown as an internal error. A handler ends with one of
//
//	return c.render(http.StatusOK, view.JobsPage(list)) // a page or a part of one
//	return c.redirect("/jobs/%d?done=cancelled", n)     // a form was accepted: 303
//
// Pages are rendered into memory first, so a browser never gets half a page.
//
// # How to add a page
//
//  1. Add its path, who may see it and its methods to the routes of its area, such
//     as scheduleRoutes in schedules.go. A new area is also added to allRoutes. For
//     member pages, one handler serves /x and /public/x; ui.Href(ctx, "/jobs/%d", n)
//     (in a handler: c.href) returns the link for both.
//  2. Add a view model to package view: a struct in schedules.go with everything
//     that the page shows. If service lacks a query, add it there; a list returns a
//     job.Page.
//  3. Add the components to view/schedules.templ, and helper functions to the Go
//     file beside it. Render inside @ui.Frame(ui.Page{Title, Area, Notice}) with
//     @ui.Title at the top; pages without navigation use @ui.Plain. Use the parts of
//     package ui before writing classes. Add a new class to its section of app.css,
//     with the tokens of docs/design-system.md.
//  4. Write the handler: read the request, fill the view model, render.
//  5. Use plain forms: method="post", then a redirect with ?done=WORD, whose
//     sentence is in notices.go. A form that was refused is shown again with status
//     422 and each problem at its field (ui.Input.Error, from view.ProblemAt).
//     Whatever destroys something asks for confirmation with ui.Confirm.
//  6. Make parts live with the attributes of live (view/live.go): an element with an
//     id that is fetched again from ?part=NAME after an event; the handler renders
//     that component alone if c.part() returns NAME. live.js merges it into the page;
//     rows that may move have an id. What is open, being typed or being sent stays.
//  7. Run `go generate ./internal/dashboard`, and visit the page in test/browser.
//
// # Editing and credentials
//
// An editable (edit.go) describes a record that a form changes in two steps: the
// form, then the difference, which is saved with the revision shown. Its form
// derives from the table of fields in package job.
//
// Handlers pass args and payloads of logs through c.show (reveal.go), which masks
// credentials in headers unless the page reveals them. Forms have the mask instead
// of the credential; job.KeepCredentials puts it back.
//
// Tests here verify handlers; those in view verify what pages say. test/browser
// visits the pages in Chromium, wide and narrow, light and dark. It fails on messages
// in the console, blocked resources and what axe-core finds.
package dashboard

//go:generate go tool templ generate -lazy=false -log-level=warn
//go:generate sh -c "go run ./generate ui/*_templ.go view/*_templ.go"
