// Package assets holds what the pages of the dashboard load: one style sheet,
// one script of our own, htmx with its licence, and the mark.
//
// Everything is embedded, so that a page never asks another server for
// anything. Each file is served under a name that carries a hash of its
// content and may therefore be kept for a year; [Path] gives that name, and
// pages always go through it.
//
// htmx.min.js is htmx.org 2.0.11 as published, see htmx.LICENSE.txt. To update
// it, replace both files by those of the newer package.
package assets
