// Package ports picks TCP ports for servers that tests start. Call [Free] in a test;
// [Pick] is for helpers that have none.
//
// A server that takes its port from the system (port 0) needs none of this. The package
// is for programs that are told their port, or keep it while they are down.
package ports
