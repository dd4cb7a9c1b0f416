// Package naturaltime parses times in plain English: "in 30 minutes", "tomorrow at
// 9:00", "every weekday at 9:00 Europe/Berlin".
//
// It is pure: the current time and the zone are arguments. It returns fields of the
// API (schedule_in, scheduled_at, repeat_every, cron, timezone), so that a text never
// means anything the API can't express. It refuses an ambiguous text with a sentence
// that asks for the missing part. It never guesses, because a job at the wrong time
// is worse than a question.
//
// [Parse] reads words from left to right. A zone may be at the end; times without one
// use the zone argument. A cron expression is returned unchanged.
package naturaltime
