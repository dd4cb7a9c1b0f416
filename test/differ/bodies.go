package differ

import (
	"fmt"
	"strings"
)

func object(members []string) string { return "{" + strings.Join(members, ",") + "}" }

func quoted(name, value string) string { return fmt.Sprintf("%q:%q", name, value) }

// key returns one of the keys that jobs and schedules of both accounts share.
func (m *maker) key() string { return fmt.Sprint("k", m.IntN(4)) }

// content returns a body that no other request has, so that records differ.
func (m *maker) content() string {
	m.contents++
	return fmt.Sprintf(`"body":{"n":%d,"state":"$state.a"}`, m.contents)
}

func (m *maker) limits() string {
	return choose(m, `"limits":["l0"]`, `"limits":["l1"]`, `"limits":["l1","l0"]`, `"limits":[]`)
}

func (m *maker) url() string {
	return quoted("url", "<target>/"+choose(m, "ok", "ok", "json", "bad", "gone", "set", "next", "never", "stop", "fail"))
}

// request returns members that say what to send.
func (m *maker) request() []string {
	members := []string{m.url(), m.content()}
	add := func(percent int, member string) {
		if m.chance(percent) {
			members = append(members, member)
		}
	}
	add(30, quoted("method", choose(m, "get", "POST", "put")))
	add(30, m.name())
	add(15, quoted("description", fmt.Sprint("d", m.IntN(2))))
	add(35, m.tagList())
	add(25, m.limits())
	add(25, m.headers())
	add(15, `"query":{"a":[1,null,"x"],"b":"$state.a"}`)
	add(70, m.retries())
	add(10, `"success":["2xx",500]`)
	add(10, `"expires_in":[3,"days"]`)
	add(10, `"metadata":false`)
	add(2, `"nonsense":1`)
	return members
}

func (m *maker) name() string { return quoted("name", fmt.Sprint("n", m.IntN(3))) }

func (m *maker) headers() string {
	return choose(m, `"headers":{"x-key":"{{secret.s0}}"}`, `"headers":{"x-key":["{{secret.s1}} {{secret.s0}}","b"]}`,
		`"headers":{"x-a":"1"}`, `"headers":{"x-b":["1","2"]}`, `"headers":{"x-key":"{{secret.`+choose(m, "s0", "s1", "none")+`}}"}`)
}

// retries returns when a failed attempt is tried again: not soon.
func (m *maker) retries() string {
	return choose(m, `"retries":0`, `"retries":1,"backoff":[[2,"hours"]]`)
}

func (m *maker) tagList() string {
	return choose(m, `"tags":["t0"]`, `"tags":["t1","t0"]`, `"tags":["t2"]`, `"tags":[]`)
}

// first returns a first time; "" for now.
func (m *maker) first() string {
	switch m.IntN(4) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(`"schedule_in":[%d,"hours"]`, 1+m.IntN(48))
	case 2:
		return fmt.Sprintf(`"schedule_in":%d`, 3600*(1+m.IntN(48)))
	default:
		return fmt.Sprintf(`"scheduled_at":"2031-01-%02dT00:00:00%s"`, 1+m.IntN(3), choose(m, "Z", "+02:00", ""))
	}
}

// job returns the members of a one-off job.
func (m *maker) job() []string {
	members := m.retried(m.request())
	if m.chance(70) {
		if first := m.first(); first != "" {
			members = append(members, first)
		}
	}
	if !m.chance(55) {
		return members
	}
	members = append(members, quoted("idempotency_key", m.key()))
	switch m.IntN(6) {
	case 0:
		members = append(members, `"on_conflict":"refuse"`)
	case 1, 2:
		members = append(members, `"on_conflict":"replace"`)
	case 3:
		members = append(without(members, "schedule_in", "scheduled_at"), `"on_conflict":"debounce"`,
			fmt.Sprintf(`"schedule_in":[%d,"hours"],"max_wait":[%d,"hours"]`, 1+m.IntN(5), 2+m.IntN(8)))
	case 4:
		members = append(members, `"throttle":[1,"day"]`)
	}
	return members
}

// retried adds retries if there are none: those of the default are made soon.
func (m *maker) retried(members []string) []string {
	return append(without(members, "retries"), m.retries())
}

// without returns the members that don't have these names.
func without(members []string, names ...string) []string {
	var kept []string
	for _, member := range members {
		is := false
		for _, name := range names {
			is = is || strings.HasPrefix(member, `"`+name+`"`)
		}
		if !is {
			kept = append(kept, member)
		}
	}
	return kept
}

func (m *maker) frequency() string {
	return choose(m, `"repeat_every":[1,"day"]`, `"repeat_every":7200`, `"repeat_every":[3,"hours"]`, `"cron":"0 0 1 1 *"`,
		`"cron":"30 5 1 JAN *","timezone":"Europe/Berlin"`)
}

// schedule returns the members of a schedule.
func (m *maker) schedule(keyed bool) []string {
	members := append(m.retried(m.request()), m.frequency())
	if first := m.first(); first != "" {
		members = append(members, first)
	}
	if keyed && m.chance(50) {
		members = append(members, quoted("idempotency_key", m.key()))
	}
	for _, option := range []string{m.ends(), m.maxRuns(), m.catchUp(), m.except()} {
		if m.chance(12) {
			members = append(members, option)
		}
	}
	return members
}

func (m *maker) ends() string {
	return quoted("ends_at", choose(m, "2020-01-01", "2031-06-01", "2031-01-02T00:00:00Z", "2032-01-01"))
}
func (m *maker) maxRuns() string { return fmt.Sprintf(`"max_runs":%d`, 1+m.IntN(3)) }
func (m *maker) catchUp() string { return quoted("catch_up", choose(m, "one", "none", "all")) }
func (m *maker) except() string {
	return choose(m, `"except":["2031-01-01/2031-01-02"]`, `"except":[]`)
}

// The fields of patches.
var (
	fieldsOfRuns = []func(*maker) string{(*maker).name, (*maker).first,
		func(m *maker) string { return quoted("description", fmt.Sprint("e", m.IntN(2))) }}
	fieldsOfJobs = append(fieldsOfRuns[:len(fieldsOfRuns):len(fieldsOfRuns)], (*maker).url, (*maker).content, (*maker).tagList,
		(*maker).limits, (*maker).headers, (*maker).removed)
	fieldsOfSchedules = append(fieldsOfJobs[:len(fieldsOfJobs):len(fieldsOfJobs)], (*maker).frequency, (*maker).ends, (*maker).maxRuns,
		(*maker).catchUp, (*maker).except)
)

func (m *maker) removed() string {
	return choose(m, `"tags":null`, `"limits":null`, `"headers":null`, `"name":null`, `"schedule_in":null`, `"url":null`, `"ends_at":null`,
		`"max_runs":null`)
}

// fields returns some members of a patch.
func (m *maker) fields(of []func(*maker) string) []string {
	var members []string
	for _, i := range m.Perm(len(of))[:1+m.IntN(min(3, len(of)))] {
		if member := of[i](m); member != "" {
			name, _, _ := strings.Cut(member[1:], `"`)
			members = append(without(members, name), member)
		}
	}
	return members
}

// limit returns a limit. A rate lets what exceeds it wait for a day.
func (m *maker) limit() string {
	return choose(m, `{"parallel":1}`, `{"parallel":3}`, `{"paused":true}`, `{"rate":{"calls":2,"per":[1,"day"]}}`, `{}`,
		`{"rate":{"calls":5,"per":86400},"parallel":2}`)
}

// filter returns the filter of an operation.
func (m *maker) filter() string {
	return choose(m, `"state":"scheduled"`, `"state":"discarded"`, `"tags":["t0"]`, `"tags":["t1","t0"]`,
		quoted("name", fmt.Sprint("n", m.IntN(3))), `"host":"127.0.0.1"`,
		`"error_kind":"status"`, `"state":"completed","tags":["t0"]`, `"since":"2020-01-01T00:00:00Z"`, `"until":"2020-01-01T00:00:00Z"`)
}
