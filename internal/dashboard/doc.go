// Package dashboard is what people see of punctual in a browser: pages for
// signing in, jobs, schedules, logs and settings, served by the same process as
// the API.
//
// It has no rules of its own. A page reads from the store (always by the
// viewer's owner, always through a bounded, indexed query), changes things
// through manage, and writes HTML. Pages are templ components on top of package
// ui, which has the frame, the parts and the style; assets has what they load.
//
// # How a request is answered
//
// [Server.Wrap] puts the dashboard in front of the API: paths of its own are
// answered here, all others go on, but a browser that asks for a page nobody
// knows gets one that says so. In front of the pages stand, in this order:
// security headers (security.go), protection against requests that other sites
// forge (http.CrossOriginProtection), and the answer to who looks, which is the
// session's account or, under /public, the account of the public key
// (session.go). A page never looks at cookies: it asks its call for the viewer.
//
// A handler is a method `func (s *Server) jobs(c *call) error`. What it returns
// becomes an error page: faults say their sentence, everything else is logged
// and told as an internal error. It ends with one of
//
//	return c.render(http.StatusOK, jobsPage(data))     // a whole page
//	return c.redirect("/jobs/%d?done=cancelled", n)    // after a form was taken: 303
//
// Pages are rendered into memory first, so that an error is never half a page.
//
// # How to add a page
//
//  1. Its path, who may see it and its methods go to the table of its area:
//     `var scheduleRoutes = []route{…}` in schedules.go, named in routes.go. For
//     member pages the same handler serves /x and /public/x; link with
//     ui.Href(ctx, "/jobs/%d", n) (in a handler: c.href) and it comes out right.
//  2. The handler goes beside it, the components into schedules.templ. Read
//     what is shown in the handler; components only draw.
//  3. Draw inside @ui.Frame(ui.Page{Title, Area, Notice: c.notice()}) with
//     @ui.Title on top; without navigation, inside @ui.Plain. Use ui's parts
//     before writing classes; a new class goes into its part of app.css.
//  4. Forms are plain: method="post", an answer by redirect with ?done=WORD (its
//     sentence in notices.go) or, when refused, the same page with status 422
//     and each problem at its field (ui.Input.Error from problemAt). Whatever
//     destroys something is a ui.Confirm.
//  5. Live parts are fragments: an element with an id, data-live={ c's
//     href("/events") }, hx-get of its own address with ?part=NAME,
//     hx-trigger="refresh" and hx-swap="outerHTML"; the handler answers
//     c.render with the component alone when c.part() says so. app.js does the
//     rest. Errors that come by htmx are answered with 200 or 422 and HTML.
//  6. `go generate ./internal/dashboard`, and a walk in test/browser.
//
// # What holds it
//
// Tests here cover what is pure and each handler's edge; test/browser walks the
// pages in Chromium, wide and narrow, light and dark, and fails on messages in
// the console, refused resources and what axe-core finds.
package dashboard

//go:generate go tool templ generate -lazy=false -log-level=warn
