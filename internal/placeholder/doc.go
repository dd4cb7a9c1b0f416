// Package placeholder parses the placeholders in header values: call [Parse].
// {{secret.NAME}} stands for the secret NAME of the job's account, and {{{{ for a
// literal {{.
//
// It is pure: what a secret's value is, and where it may be sent, is decided in
// package secret.
package placeholder
