// Package browser tests the dashboard in Chromium as a person would use it,
// against the real program.
//
// [Open] returns a [Page] in a profile of its own, in one of the [Looks]: wide
// or a phone, light or dark. The methods of a page are what a person does: Go,
// Click, Fill, Press, See. Each of them waits for what it needs, with a deadline
// that only a broken page reaches; nothing sleeps.
//
// What fails a test without being asked: a message of the console that is an
// error, an exception in a script, whatever the Content-Security-Policy
// refused, and a failed request that the test did not expect ([Page.Expect]).
// [Page.Check] checks the rest: no serious finding of axe-core, no horizontal
// scrolling, at most 100 KiB of HTML.
//
// # Chromium
//
// It is Debian's package chromium, or what PUNCTUAL_CHROMIUM names; make test
// installs it. One browser serves all tests of the process. axe-core is in axe/,
// as its npm package (4.14.1) has it, with its licences.
//
// # Environment
//
// PUNCTUAL_E2E_FULL tests pages in all four looks instead of two. PUNCTUAL_CHROMIUM names
// another browser.
//
// `make screenshots` runs the one test here that writes files.
package browser
