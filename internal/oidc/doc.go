// Package oidc has people sign in at an OpenID provider: the authorization code flow of
// OpenID Connect Core 1.0 with PKCE (RFC 7636), and back-channel logout.
//
// [Provider.Begin] returns the address that the browser is sent to, [Provider.Finish]
// the claims of who came back, and [Provider.Logout] what a logout token of the provider
// ends. What is known of a sign-in under way is in the browser that began it, so that any
// node can finish it, and no other browser can.
//
// Each request to the provider is bounded in time and bytes, and follows redirects within
// the provider only. Discovery and keys are cached; one request fetches them for all who
// wait, and a failure is remembered for some seconds.
//
// Who may sign in, and to which account, is decided by package auth.
package oidc
