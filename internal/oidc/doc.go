// Package oidc signs people in at an OpenID provider, by the authorization code flow of
// OpenID Connect Core 1.0 with PKCE (RFC 7636), and supports back-channel logout.
//
// [Provider.Begin] returns the address that the browser is sent to, [Provider.Finish]
// the claims of the person who returned, and [Provider.Logout] which sessions a logout
// token ends. The state of a sign-in under way is in the browser that began it, so any
// node can finish it, and no other browser can.
//
// Each request to the provider is bounded in time and bytes, and follows redirects within
// the provider only. Discovery and keys are cached; one request fetches them for all who
// wait, and a failure is remembered for some seconds.
//
// Who may sign in, and to which account, is decided by package auth.
package oidc
