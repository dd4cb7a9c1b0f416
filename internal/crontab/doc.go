// Package crontab converts the lines of a crontab(5) that call curl or wget into the
// fields of a schedule: call [Parse], or [Request] for one command.
//
// A line is converted only if the schedule's request is the one that the
// command sends. What affects only the output, as curl's -s and -o do, is
// ignored: the service keeps each response. Every other line is returned with
// the reason why it can't be converted.
//
// Request reads one command, as people paste it, and returns the fields of a job.
//
// The package reads text and calls nothing. It evaluates variables that the
// crontab sets and quotes as a POSIX shell does, but runs no command.
package crontab
