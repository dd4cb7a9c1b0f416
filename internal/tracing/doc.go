// Package tracing makes OpenTelemetry spans of calls, claims, attempts and deliveries,
// and sends them to a collector by OTLP over HTTP: [New] returns a [Tracer], whose
// methods begin spans.
//
// It is configured by the standard environment variables. Without an endpoint New
// returns nil; all methods accept a nil Tracer and a nil Span and do nothing.
//
// Ids of attempts are derived from the job and the number of the attempt, so
// retries and deliveries, perhaps on other nodes and weeks later, know the spans
// they belong to without storing them. A job stores one span: that of the call that
// created it.
//
// Spans wait for export in a queue of bounded length; what does not fit is dropped and
// counted. Attributes are of bounded length and contain no bodies, no headers, and URLs
// without queries and user info.
package tracing
