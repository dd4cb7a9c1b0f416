package execute

// Purpose is what a request is for. Connections are not shared between purposes.
type Purpose uint8

// The purposes of requests.
const (
	ForJob      Purpose = iota
	ForDelivery         // a callback, a webhook event or an alert
	ForToken            // for the requests of jobs
)

// Party is whom a request is sent for: an account, with one purpose. No connection
// carries requests of two parties: a target that takes the bytes of one request for
// the start of the next, or sends one response too many, would mix what belongs to
// different accounts.
type Party struct {
	Account int64
	Purpose Purpose
	// Certificate is presented to the first origin; nil for none. Connections over
	// which it was presented carry no other requests.
	Certificate *Certificate
}

// route is what a connection is opened for: a party's requests to a host and port.
type route struct {
	party Party
	plain bool   // without TLS
	to    string // host and port
}

// route returns the route of the next hop.
func (a *attempt) route() route {
	party := a.req.Party
	if a.foreign {
		party.Certificate = nil
	}
	return route{party, a.url.Scheme == "http", hostPort(a.url)}
}
