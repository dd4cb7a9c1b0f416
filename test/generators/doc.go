// Package generators tests that the API's document is what tools expect: two linters
// find no error in it (the second one only with PUNCTUAL_E2E_FULL), and three generators
// of clients make code from it that compiles.
//
// The tools are pinned: those for Node in package-lock.json, the one for Go in the
// module oapi. Install the former with `npm ci --ignore-scripts` in this directory;
// scripts/test does.
package generators
