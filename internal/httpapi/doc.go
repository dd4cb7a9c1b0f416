// Package httpapi is the HTTP edge: one route table, one file a resource.
//
// It reads requests (credentials, bodies, query parameters), calls manage, and
// writes records or problems (RFC 9457). Every error ends here: faults become
// their status and sentence, anything else is logged and answered as an
// internal error without saying more.
//
// The order of checks is fixed: route (404), method (405), key (401), rate
// (429), media type (415), size (413), syntax (400), content (422).
//
// No rules live here; what a request may say is job's and manage's business.
package httpapi
