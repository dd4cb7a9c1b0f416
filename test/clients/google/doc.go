// Package google calls the service with Google's published clients, unmodified: those for
// Go by the tests of the module gcloud, which keeps their dependencies out of the
// service's own module, and those for Node.js by the tests in node.
package google
