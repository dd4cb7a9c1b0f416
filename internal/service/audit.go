package service

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/job"
)

// The details of entries of the audit log. They contain no path and no query of a
// receiver's or target's URL, because these may be secret.

// operationDetail describes an operation on many jobs.
func operationDetail(o *job.Operation) string {
	return string(o.Action) + " " + string(o.Filter) + ", operation " + o.ID.String()
}

// scheduleDetail describes a schedule.
func scheduleDetail(s *job.Schedule) string {
	detail := "schedule " + s.ID.String()
	if s.Key != nil {
		detail = strconv.Quote(*s.Key) + ", " + detail
	}
	if s.Name != nil {
		detail = strconv.Quote(*s.Name) + ", " + detail
	}
	return detail
}

// muteDetail says until when a schedule is muted, and why.
func muteDetail(m *job.Mute) string {
	detail := ", until it is unmuted"
	switch {
	case m.Acknowledged():
		detail = ", until it succeeds"
	case !m.Until.IsZero():
		detail = ", until " + job.FormatTime(m.Until)
	}
	if m.Note != nil {
		detail += ": " + *m.Note
	}
	return detail
}

// alertDetail describes an alert: what it reports and whom it notifies.
func alertDetail(name string, d *alert.Definition) string {
	var on, to []string
	for _, event := range []struct {
		name string
		set  bool
	}{{"failed", d.Failed}, {"recovered", d.Recovered}, {"late", d.Late}, {"skipped", d.Skipped}, {"ended", d.Ended}} {
		if event.set {
			on = append(on, event.name)
		}
	}
	for _, r := range d.To {
		to = append(to, receiverDetail(r.Target))
	}
	return name + ": on " + strings.Join(on, ", ") + ", to " + strings.Join(to, ", ")
}

// receiverDetail returns the host or the address of a receiver.
func receiverDetail(target string) string {
	if address, mail := strings.CutPrefix(target, "mailto:"); mail {
		return address
	}
	u, err := url.Parse(target)
	if err != nil {
		return "a receiver"
	}
	return u.Host
}

// applyDetail describes what applying a document did; "" if that was nothing.
func applyDetail(owner string, results []ApplyResult) string {
	keys := map[string][]string{}
	for _, r := range results {
		keys[r.Result] = append(keys[r.Result], r.Key)
	}
	var did []string
	for _, result := range []string{"removed", "created", "changed"} { // the end may be cut off
		if n := len(keys[result]); n > 0 {
			did = append(did, strconv.Itoa(n)+" "+result+" ("+strings.Join(keys[result], ", ")+")")
		}
	}
	if len(did) == 0 {
		return ""
	}
	if owner == "" {
		return strings.Join(did, ", ") // a document of several owners
	}
	return "owner " + strconv.Quote(owner) + ": " + strings.Join(did, ", ")
}
