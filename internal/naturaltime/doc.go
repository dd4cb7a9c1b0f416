// Package naturaltime reads in plain English when something is to happen: "in 30
// minutes", "tomorrow at 9:00", "every weekday at 9:00 Europe/Berlin".
//
// It is pure: the present and the zone are arguments. What it gives is what the
// API takes (schedule_in, scheduled_at, repeat_every, cron, timezone), so that a
// text never means something the API could not be told directly. Where a text
// leaves something open it is refused with a sentence that asks for it; nothing
// is guessed, since a job at the wrong time is worse than a question.
//
// [Parse] goes from left to right over words. A zone may stand at the end; times
// without one are read in the zone given. A cron expression is taken as it is.
package naturaltime
