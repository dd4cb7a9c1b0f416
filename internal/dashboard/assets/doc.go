// Package assets has the files that pages of the dashboard load: a style sheet,
// two scripts (app.js has conveniences, live.js the live parts), htmx with its licence,
// and the logo.
//
// The files are embedded, so pages load nothing from other servers. Each is served
// under a name that contains a hash of its content, so browsers may cache it for a
// year. [Path] returns that name; pages always use it.
//
// htmx.min.js is htmx.org 2.0.11 as published, see htmx.LICENSE.txt. To update it,
// replace both files with those of the new version.
package assets
