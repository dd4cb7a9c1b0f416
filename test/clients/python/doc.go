// Package python runs the tests of the Python client against the real binary. The
// tests are in clients/python/tests and use unittest; this package starts the
// service, a PostgreSQL database and a TLS server that passes requests on to the
// tests' receivers.
package python
