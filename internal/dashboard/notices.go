package dashboard

import "strconv"

// notices maps the parameter done of an address to a sentence about the previous
// action. Only these sentences are shown, so that a link can't contain a text of
// its own.
var notices = map[string]string{
	"sent":          "The job has been created. It is due in ten seconds; see below.",
	"key":           "The key has been created.",
	"revoked":       "The key has been revoked.",
	"rolechanged":   "The role has been changed.",
	"memberremoved": "The person or invitation has been removed.",
	"joined":        "You belong to this account now.",
	"rotated":       "A new secret signs from now on. The old one also signs for 24 hours.",
	"newemail":      "If no other account has this address, a link was sent there. It works for a day.",
	"asked":         "A link was sent to your email address. It works for a day.",
	"password":      "The password has been changed, and you are signed out everywhere else.",
	"created":       "The job has been created.",
	"passwordkeys":  "The password has been changed, all keys are revoked, and you are signed out everywhere else.",
	"ended":         "The session has been ended.",
	"endedothers":   "You are signed out everywhere else.",
	"factoroff":     "The second factor is switched off.",
	"cancelled":     "The job has been cancelled.",
	"selected":      "The selected jobs have been cancelled.", // see cancelled
	"none":          "No job was selected; nothing was changed.",
	"final":         "The job had already finished; nothing was changed.",
	"sooner":        "The run has been requested. Its result appears below.",
	"rescheduled":   "The job has been rescheduled.",
	"held":          "A job with this idempotency key already exists. No other job was created; this is the existing one.",
	"enabled":       "The schedule is resumed.",
	"disabled":      "The schedule is paused; it creates no runs until you resume it.",
	"acknowledged":  "The failures are acknowledged. Alerts send no more of them until the schedule succeeds.",
	"muted":         "The schedule is muted: it goes on running, and alerts send none of its failures.",
	"unmuted":       "The schedule is no longer muted.",
	"deleted":       "The schedule has been deleted. Its past runs and their logs stay.",
	"jobedited":     "The job has been changed.",
	"changed":       "This is the new job, with your changes.",
	"edited":        "The schedule has been changed.",
	"state":         "The state has been saved; the next run uses it.",
	"cleared":       "The state has been cleared.",
	"again":         "This is the new job, with the same request.",
	"recreated":     "This is the new job, with the same request and time.",
	"secretcreated": "The secret has been stored.",
	"secretchanged": "The secret has the new value; the next attempts use it.",
	"secretdeleted": "The secret has been deleted.",
	"runcancelled":  "The run has been cancelled. A request under way is not ended; what it stores is refused.",
	"runended":      "The run had already ended; nothing was changed.",
	"stopped":       "The operation has been stopped.",
	"alertcreated":  "The alert has been created. Send a test to see whether its receivers get it.",
	"alertchanged":  "The alert has been replaced.",
	"mailconfirmed": "You get these alerts from now on.",
	"mailrefused":   "You get no more e-mails of this service.",
	"alertdeleted":  "The alert has been deleted.",
	"limitcreated":  "The limit has been created.",
	"limitchanged":  "The limit has been replaced.",
	"limitpaused":   "The limit is paused; the jobs wait until it is resumed.",
	"limitresumed":  "The limit is resumed.",
	"limitdeleted":  "The limit has been deleted.",
	"groupcreated":  "The group has been created.",
	"groupchanged":  "The group has been replaced; jobs that exist keep their targets.",
	"groupdeleted":  "The group has been deleted.",
	"limited":       "The limits have been saved; they apply within two seconds.",
	"suspended":     "The account is suspended; its jobs stop within two seconds.",
	"preferences":   "The preferences are saved in this browser.",
	"resumed":       "The account is resumed; its jobs run again.",
}

// begun reports whether the previous action has only begun, so that its result is
// not known.
func (c *call) begun() bool { return c.param("done") == "sooner" }

// notice returns the sentence about the previous action; "" without one.
func (c *call) notice() string {
	done := c.param("done")
	if n, err := strconv.Atoi(c.param("count")); err == nil && done == "selected" && n >= 0 && n <= maxSelected {
		return cancelled(n)
	}
	return notices[done]
}

// cancelled says how many of the selected jobs were cancelled.
func cancelled(n int) string {
	switch n {
	case 0:
		return "The selected jobs had already finished; nothing was changed."
	case 1:
		return "1 job has been cancelled."
	}
	return strconv.Itoa(n) + " jobs have been cancelled."
}
