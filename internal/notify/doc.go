// Package notify formats the messages of alerts for each kind of receiver.
//
// A Channel turns a Message into the body of a delivery: a webhook's JSON, the
// text of a message to Slack, the subject and text of an e-mail. The delivery
// queue sends, retries and signs them like callbacks; package smtp sends e-mails.
package notify
