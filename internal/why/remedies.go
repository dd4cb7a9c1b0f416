package why

import "github.com/punctual-dev/punctual/internal/job"

// remedies say what to do about a failure of a kind.
var remedies = map[job.Kind]string{
	job.KindDNS:         "The host name of the url could not be resolved: check it, and correct the url.",
	job.KindConnect:     "Nothing accepted the connection: check that the target runs, and its host and port.",
	job.KindTLS:         "The target's certificate is not trusted, or the handshake failed: the target's owner must mend it.",
	job.KindTimeout:     "The target did not respond within timeout: give a longer timeout, or let the target answer at once and report later (completion).",
	job.KindClosed:      "The target closed the connection before its response was complete: look at the target's log.",
	job.KindProtocol:    "What the target sent was not HTTP: check scheme and port of the url.",
	job.KindRedirect:    "The target redirected too often, or to where requests may not go: give the final url.",
	job.KindBlocked:     "Requests to this address are not allowed: the operator of the service decides which are.",
	job.KindCancelled:   "The job was cancelled while its request was under way.",
	job.KindSecret:      "A secret that the job names is gone or can't be used for this host: a person with an admin key must store it.",
	job.KindGroup:       "The run could not become jobs for the targets of its group. If the group is gone, create it or give the schedule a url; else the account has reached a limit, which the message names.",
	job.KindTooLarge:    "The request is too large to send: give a smaller body, query or headers.",
	job.KindInterrupted: "The service stopped during the attempt; it is repeated by itself while retries are left.",
	job.KindUnstored:    "The outcome could not be stored: look at the target whether the request has arrived before you repeat it.",
	job.KindInternal:    "A defect of the service ended the attempt: tell its operator the job's number.",
	job.KindExpired:     "The job could not start within expires_in after its due time: a limit or an outage delayed it. Give a longer expires_in, or create the job anew.",
	job.KindPoisoned:    "The attempt can't be made at all: tell the operator the job's number.",
	job.KindAnswer:      "The target itself reported a failure: its response in the logs says why.",
	job.KindAbandoned:   "The target accepted the work but did not report its outcome in time.",
	job.KindStatus:      "The response in the logs may say why. If this status counts as a success, add it to success.",
}
