// Package pgtest gives tests a PostgreSQL of their own.
//
// URL returns a fresh, empty database on a server that the test process starts
// when the first test asks, and that ends with the process, however that ends:
// a small shell waits for the process's end of a pipe to close, then stops the
// server and removes its files. TEST_DATABASE_URL names another server to make
// databases on instead.
//
// Start starts a server for one test that can be restarted, killed, stopped
// for a while and continued, followed by a synchronous standby and failed over
// to it.
//
// StartPatroni starts servers under Patroni with an etcd, which choose the primary
// by themselves, and whose network the test can take away.
//
// The programs come from PATH or from where Debian's packages put them. As root
// they run as an unprivileged user, since PostgreSQL refuses to run as root.
// Servers listen on loopback and write to disk as they would in earnest.
package pgtest
