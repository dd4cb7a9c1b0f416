// Package workflow has the records of workflow runs and the rules of how they proceed:
// call [Start], [Append], [Finish] and [Cancel] inside the transaction that stores what
// they return, and [Message] before a message is sent.
//
// A run is a program in an application's own route. The service sends it a message, a
// job, for each step that was stored; the route replays the steps, carries out the next
// one and stores it, which makes the next message. So a run has no thread and no timer of
// its own: it proceeds as long as it has an open message, call or wait.
//
// The functions are pure: they change the run and the steps that they are given, and
// nothing else. Package records stores both; package service reads and writes them, and
// makes the messages; package qstash translates the protocol of the SDK.
package workflow
