package dashboard

// notices are the sentences that the parameter done of an address stands for:
// what the step before came to. Only these words are shown, so that nobody can
// put sentences of their own into a link.
var notices = map[string]string{
	"sent":         "The job has been made. Look below: it is due in ten seconds.",
	"key":          "The key has been made.",
	"revoked":      "The key has been revoked.",
	"rotated":      "A new secret signs from now on; the old one signs too for 24 hours.",
	"password":     "The password has been changed, and you are signed out everywhere else.",
	"created":      "The job has been created.",
	"passwordkeys": "The password has been changed, all keys are revoked, and you are signed out everywhere else.",
	"ended":        "The session has been ended.",
	"endedothers":  "You are signed out everywhere else.",
	"factoroff":    "The second factor is switched off.",
	"cancelled":    "The job has been cancelled.",
	"picked":       "The picked jobs have been cancelled.",
	"none":         "No job was picked; nothing was changed.",
	"final":        "The job was final already; nothing was changed.",
	"sooner":       "The job is being run now.",
	"moved":        "The job has another time now.",
	"held":         "A job with this idempotency key exists already. Nothing was created; this is it.",
	"enabled":      "The schedule is enabled; its next run is planned.",
	"disabled":     "The schedule is disabled; it does not run until it is enabled.",
	"deleted":      "The schedule has been deleted. Its past runs and their logs stay.",
	"edited":       "The schedule has been changed.",
	"state":        "The state has been saved; the next run gets it.",
	"cleared":      "The state has been cleared.",
	"again":        "This is the new job, with the same request.",
	"limited":      "The limits have been saved; they hold within two seconds.",
	"suspended":    "The account is suspended; its jobs stop within two seconds.",
	"resumed":      "The account is resumed; its jobs run again.",
}

// notice gives what the step before came to; "" when there was none.
func (c *call) notice() string { return notices[c.param("done")] }
