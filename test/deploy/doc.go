// Package deploy tests the configurations in the directory deploy of the repository
// with the programs that read them.
//
// nginx and Caddy run before real nodes, with the files as they are except for
// addresses and certificates. promtool tests the alert rules. The other files are
// checked as far as that is possible without their systems: manifests, the compose
// file and the dashboard against what the service offers. A program that is missing
// fails its tests; the message names Debian's package.
package deploy
