// Package mailaddress reads e-mail addresses into the one form in which they are stored
// and compared: call [Parse]. It is pure.
//
// Two addresses that look alike must not be two accounts. The local part follows the
// PRECIS framework (RFC 8265) and has letters of one script, the domain is stored in
// ASCII (UTS 46), so that a domain with other letters is visible as one.
package mailaddress
