// Package smtp sends e-mails through the operator's mail server: [New] returns a
// [Client], [Client.Send] sends one e-mail.
//
// The server is the operator's own, so its address is not guarded like those of
// targets. With a password, TLS is required; without, STARTTLS is used if the
// server offers it. Each e-mail has a connection of its own and one recipient; a
// few connections are open at once.
package smtp
