// Package notify formats the messages of alerts for each kind of receiver: [ChannelOf]
// and [ChannelNamed] return a [Channel].
//
// A Channel turns a [Message] into the body of a delivery: a webhook's JSON, a message
// to Slack or Microsoft Teams, an event for PagerDuty, the subject and text of an
// e-mail. The delivery queue sends, retries and signs them like callbacks; package smtp
// sends e-mails. When messages are sent is decided by package alert.
package notify
