// Package consent asks the owners of e-mail addresses whether an account's alerts may
// send e-mails there, and lets no other e-mail of alerts pass.
//
// Everything that alerts send by e-mail goes through Gate.Send. It refuses e-mails to
// who has refused those of all accounts and, for accounts that strangers have made,
// to who has not confirmed. Gate.Ask sends the question: an e-mail with a link, in
// which nothing stands that the account has written. The rules are pure decisions,
// which the store calls in a transaction.
package consent
