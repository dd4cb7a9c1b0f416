// Package notify formats the messages of alerts for each kind of receiver.
//
// A Channel is a kind of receiver. It turns a Message into the body of a delivery: a
// webhook's JSON, a message to Slack or Microsoft Teams, an event for PagerDuty, the
// subject and text of an e-mail. Channels lists them for the edges. The delivery queue
// sends, retries and signs them like callbacks; package smtp sends e-mails.
package notify
