// Package smtp sends e-mails through the operator's mail server.
package smtp
