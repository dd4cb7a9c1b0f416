// Package clienttest starts what the tests of clients in other languages need: the
// service, a PostgreSQL database and a TLS server that passes requests on to their
// receivers.
package clienttest
