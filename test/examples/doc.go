// Package examples runs the examples of the directory examples against a real
// service. The one for Next.js is tested with the TypeScript client, the one for
// GitHub Actions in package e2e.
package examples
