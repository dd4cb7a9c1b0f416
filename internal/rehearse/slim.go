package rehearse

import (
	"net/url"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// unneeded are the fields of a schedule that play no part in a rehearsal. Each of up to
// 1,000 schedules may have a megabyte of them.
var unneeded = map[string]bool{
	"body": true, "body_base64": true, "query": true, "headers": true, "callback_url": true, "callback_on": true, "webhook_url": true,
	"name": true, "description": true, "tags": true, "metadata": true, "redact": true, "auth": true,
}

// Slim returns a schedule without what plays no part in a rehearsal, so that many can be
// kept.
func Slim(s *job.Schedule) *job.Schedule {
	kept := *s
	kept.Args, kept.State, kept.Previous = SlimArgs(s.Args), nil, nil
	kept.Description = nil // the name, which is short, says which one it is
	return &kept
}

// SlimArgs is Slim for args. Of the url, the origin remains, because limits may be for
// its host.
func SlimArgs(args rawjson.Value) rawjson.Value {
	var members []rawjson.Member
	for _, m := range rawjson.Members(args) {
		if unneeded[m.Name] {
			continue
		}
		if m.Name == "url" {
			if u, err := url.Parse(rawjson.Text(m.Value)); err == nil {
				m.Value = rawjson.Quote(u.Scheme + "://" + u.Host + "/")
			}
		}
		members = append(members, m)
	}
	return rawjson.Object(members)
}
