// Package consent asks the owners of e-mail addresses whether an account's alerts may
// send e-mails there. Send every e-mail of an alert with [Gate.Send], and the question
// with [Gate.Ask].
//
// Send refuses e-mails to whoever has refused those of all accounts and, for accounts
// that were made through open sign-up, to whoever has not confirmed. The question is an
// e-mail with a link and without any text of the account. The rules are pure decisions,
// which the store calls in a transaction.
package consent
