package job

import (
	"regexp"
	"strings"
)

// synonyms are names of fields and query parameters in other schedulers and
// clients, as plain writes them, with the names that they stand for.
var synonyms = map[string]string{
	"delay": "schedule_in", "after": "schedule_in", "wait": "schedule_in", "in": "schedule_in", "runin": "schedule_in",
	"startin": "schedule_in",
	"at":      "scheduled_at", "when": "scheduled_at", "runat": "scheduled_at", "dueat": "scheduled_at", "due": "scheduled_at",
	"date":      "scheduled_at",
	"notbefore": "scheduled_at", "time": "scheduled_at", "startat": "scheduled_at", "scheduletime": "scheduled_at",
	"every": "repeat_every", "interval": "repeat_every", "repeat": "repeat_every", "rate": "repeat_every", "frequency": "repeat_every",
	"schedule": "cron", "crontab": "cron", "cronexpression": "cron", "scheduleexpression": "cron",
	"tz": "timezone", "zone": "timezone", "scheduleexpressiontimezone": "timezone",
	"data": "body", "payload": "body", "json": "body", "message": "body", "content": "body",
	"bodybytes": base64Field, "bytes": base64Field, "binary": base64Field, "rawbody": base64Field, "base64": base64Field,
	"uri": "url", "endpoint": "url", "target": "url", "destination": "url", "address": "url", "href": "url",
	"verb": "method", "httpmethod": "method", "params": "query", "queryparams": "query", "querystring": "query",
	"callback": "callback_url", "webhook": "webhook_url", "failurecallback": "callback_url",
	"key": "idempotency_key", "deduplicationid": "idempotency_key", "dedupekey": "idempotency_key", "uniquekey": "idempotency_key",
	"unique":     "idempotency_key",
	"maxretries": "retries", "maxattempts": "retries", "attempts": "retries", "retry": "retries", "retrycount": "retries",
	"maxtime": "timeout", "deadline": "timeout", "title": "name", "label": "name", "labels": "tags", "comment": "description",
	"notes":  "description",
	"status": "state", "states": "state", "sort": "order_by", "sortby": "order_by", "order": "order_by", "orderby": "order_by",
	"from": "since", "to": "until",
	"pagesize": "limit", "perpage": "limit", "skip": "offset", "job": "job_id", "hostname": "host",
}

// otherDuration matches durations as programs write them: "30", "30s", "1.5 h",
// "5 minutes" and ISO 8601 with one unit: "PT5M", "P1D".
var otherDuration = regexp.MustCompile(`^(?:p?t?)([0-9]{1,9}(?:\.[0-9]{1,6})?) ?([a-z]*)$`)

// durationUnits are the units of other spellings, by the unit that is accepted.
var durationUnits = map[string][]string{
	"second": {"", "s", "sec", "secs", "second", "seconds"},
	"minute": {"m", "min", "mins", "minute", "minutes"},
	"hour":   {"h", "hr", "hrs", "hour", "hours"},
	"day":    {"d", "day", "days"},
	"week":   {"w", "wk", "week", "weeks"},
}

// SuggestDuration returns the accepted form of a duration that was written as a
// string, such as 30 for "30s" and [5, "minutes"] for "5m"; "" if it is none.
func SuggestDuration(text string) string {
	if len(text) > 32 {
		return ""
	}
	m := otherDuration.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return ""
	}
	for unit, spellings := range durationUnits {
		for _, spelling := range spellings {
			if spelling != m[2] {
				continue
			}
			amount := strings.TrimLeft(m[1], "0")
			if amount == "" || amount[0] == '.' {
				amount = "0" + amount
			}
			if unit == "second" {
				return amount
			}
			if amount != "1" {
				unit += "s"
			}
			return "[" + amount + `, "` + unit + `"]`
		}
	}
	return ""
}
