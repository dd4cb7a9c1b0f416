// Package issuer issues tokens (JWT) by which targets verify who calls them, as an
// OpenID provider does: [Issuer.Token] signs one, [Issuer.Discovery] and [Issuer.JWKS]
// are the documents with which receivers verify it, and [Rotate] replaces the key.
//
// A key is published before it signs, so that the receivers that keep the published keys
// have it by then, and for a day after it was replaced. All nodes share the keys. The
// store keeps them encrypted; see package secret.
//
// Who gets a token, and for what, is decided by package attempt.
package issuer
