// Package edge has what the API and the dashboard do alike with a request over
// HTTP: the id that it goes by, where it comes from, how many there may be a
// second, the methods that a path answers, whether its client is still there, and
// logs as a file.
//
// What a call means, who may make it and how a fault is told differ between the
// two and live with them.
package edge
