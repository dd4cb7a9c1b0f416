package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Welcome is the page of the first steps.
type Welcome struct {
	NewKey   string // shown once
	HasKey   bool
	Host     string
	Reach    Reach
	Ways     []Way
	Messages []Message  // those that arrived on the page's channel
	Jobs     []*job.Job // the newest
	Notice   string
	Problem  string // why the job could not be created
}

// Reach is whether a job can send a message to the page that creates it.
type Reach int

const (
	Reachable     Reach = iota
	OverPlainHTTP       // the page was loaded over http, and targets must use https
	OnPrivateHost       // the page's address is private, and jobs may not call it
)

// Way is a way to create the first job.
type Way struct{ ID, Name, Text string }

// Message is a message that arrived.
type Message struct {
	Text string
	At   time.Time
	Due  time.Time // of the job that sent it; zero if no job did
}

// lateText formats how late something was.
func lateText(late time.Duration) string {
	return ui.Millis(max(late, 0)) + " after it was due"
}

func jobClass(j *job.Job) string {
	switch j.State {
	case job.Completed:
		return ""
	case job.Discarded, job.Retryable:
		return "failed"
	}
	return "waits"
}
