package differ

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// sequenceLength is how many calls a sequence has before the last reads.
const sequenceLength = 80

// maker makes a sequence.
type maker struct {
	*rand.Rand
	calls    []call
	jobs     []int       // calls that may have returned jobs
	plans    []int       // calls that return schedules unless they are refused
	batches  []int       // calls that may have returned operations
	tags     []int       // calls that may have returned the tag of a document
	gates    map[int]int // the gate of each account at which requests may wait
	contents int
}

// generate returns the sequence of a seed.
func generate(seed uint64) []call {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), gates: map[int]int{}}
	for _, account := range []int{0, 1} {
		for _, name := range []string{"l0", "l1"} {
			m.add(account, "PUT", "/api/limits/"+name, m.limit())
		}
		for _, name := range []string{"s0", "s1"} {
			m.add(account, "PUT", "/api/secrets/"+name, secretBody)
		}
		m.add(account, "PUT", "/api/groups/g0", m.targets())
	}
	for len(m.calls) < sequenceLength {
		m.one()
	}
	for account := range accounts {
		m.readAll(account)
	}
	return m.calls
}

const secretBody = `{"value":"a-secret-value","hosts":["127.0.0.1"]}`

func (m *maker) add(account int, method, path, body string) *call {
	m.calls = append(m.calls, call{number: len(m.calls) + 1, account: account, method: method, path: path, body: body})
	return &m.calls[len(m.calls)-1]
}

// choose returns one of some values.
func choose[T any](m *maker, some ...T) T { return some[m.IntN(len(some))] }

// chance reports true with a probability, in percent.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// one adds a call, seldom more.
func (m *maker) one() {
	type kind struct {
		weight int
		add    func(account int)
	}
	kinds := []kind{
		{16, m.create}, {8, m.batch}, {10, m.put}, {9, m.apply}, {4, m.putID}, {10, m.patchJob}, {10, m.patchSchedule}, {5, m.rerun},
		{6, m.act},
		{8, m.actOnSchedule}, {7, m.changeLimit}, {5, m.changeSecret}, {4, m.state}, {5, m.operate}, {4, m.open}, {5, m.cancelMany},
		{8, m.hold}, {4, m.changeGroup}, {12, m.readOne},
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	pick := m.IntN(total)
	for _, k := range kinds {
		if pick -= k.weight; pick < 0 {
			k.add(m.IntN(accounts))
			return
		}
	}
}

// create adds a create of a job or a schedule.
func (m *maker) create(account int) {
	body := m.job()
	switch {
	case m.chance(35):
		body = m.schedule(true)
	case m.chance(25):
		body = append(body, m.after(account))
	}
	c := m.add(account, "POST", "/api/jobs", object(m.toGroup(body)))
	if m.chance(15) {
		c.headers = map[string]string{"Idempotency-Key": m.key()}
	} else if m.chance(10) {
		c.headers = map[string]string{"Prefer": "return=minimal"}
	}
	m.created(c)
}

// created notes that a call may have created jobs and, if it says how often they run,
// schedules.
func (m *maker) created(c *call) {
	m.jobs = append(m.jobs, c.number)
	if strings.Contains(c.body, `"repeat_every"`) || strings.Contains(c.body, `"cron"`) {
		m.plans = append(m.plans, c.number)
	}
}

// hold adds a job that stays under way, and one with its key that follows it.
func (m *maker) hold(account int) {
	m.open(account)
	gate := len(m.calls) + 1
	m.gates[account] = gate
	key := m.key()
	url := fmt.Sprintf(`"url":"<target>/hold/<run>-%d","timeout":300,"retries":0`, gate)
	members := []string{url, m.content(), quoted("idempotency_key", key)}
	if m.chance(30) {
		members = append(members, m.limits())
	}
	m.created(m.add(account, "POST", "/api/jobs", object(members)))
	for m.chance(70) {
		follower := append(m.retried(m.request()), quoted("idempotency_key", key), `"on_conflict":"replace"`)
		if m.chance(60) {
			follower = append(follower, `"schedule_in":[`+fmt.Sprint(1+m.IntN(30))+`,"hours"]`)
		}
		m.created(m.add(account, "POST", "/api/jobs", object(follower)))
	}
}

// open lets the target answer.
func (m *maker) open(account int) {
	if gate := m.gates[account]; gate > 0 {
		m.calls = append(m.calls, call{number: len(m.calls) + 1, release: gate})
		m.gates[account] = 0
	}
}

func (m *maker) batch(account int) {
	path := choose(m, "/api/jobs/batch", "/api/jobs/batch", "/api/jobs/batch?atomic=false")
	var items []string
	for range 1 + m.IntN(4) {
		item := m.job()
		if m.chance(25) {
			item = m.schedule(true)
		}
		items = append(items, object(item))
	}
	list := "[" + strings.Join(items, ",") + "]"
	if m.chance(25) {
		list = `{"jobs":` + list + `,"then":` + object(m.retried(m.request())) + "}"
	}
	m.created(m.add(account, "POST", path, list))
}

// after returns a member that names jobs to wait for.
func (m *maker) after(account int) string {
	var names []string
	for range 1 + m.IntN(2) {
		if number := m.of(account, m.jobs); number > 0 && m.chance(75) {
			names = append(names, fmt.Sprintf("<job:%d.%d>", number, m.IntN(4)))
		} else {
			names = append(names, `"key:`+m.key()+`"`)
		}
	}
	return `"after":{"jobs":[` + strings.Join(names, ",") + `]` + choose(m, "", `,"on":"completed"`, `,"on":"final"`, `,"on":"final"`) + "}"
}

// toGroup returns the members of a request, seldom with a group in place of its url.
func (m *maker) toGroup(members []string) []string {
	if !m.chance(12) {
		return members
	}
	return append(without(members, "url"), quoted("group", choose(m, "g0", "g0", "g1")))
}

// targets returns the body of a group.
func (m *maker) targets() string {
	var targets []string
	for i := range 1 + m.IntN(3) {
		target := []string{quoted("name", fmt.Sprint("t", i)), m.url()}
		if m.chance(30) {
			target = append(target, m.headers())
		}
		targets = append(targets, object(target))
	}
	return `{"targets":[` + strings.Join(targets, ",") + `]}`
}

func (m *maker) changeGroup(account int) {
	path := "/api/groups/" + choose(m, "g0", "g0", "g1")
	if m.chance(30) {
		m.ifMatch(m.add(account, "DELETE", path, ""))
	} else {
		m.ifMatch(m.add(account, "PUT", path, m.targets()))
	}
}

func (m *maker) put(account int) {
	body := object(m.toGroup(m.schedule(false)))
	if m.chance(20) { // the same again, perhaps in another order
		for i := len(m.calls) - 1; i >= 0; i-- {
			if c := m.calls[i]; c.method == "PUT" && strings.HasPrefix(c.path, "/api/schedules/key:") {
				m.plans = append(m.plans, m.add(c.account, "PUT", c.path, c.body).number)
				return
			}
		}
	}
	m.plans = append(m.plans, m.add(account, "PUT", "/api/schedules/key:"+m.key(), body).number)
}

func (m *maker) putID(account int) {
	m.add(account, "PUT", "/api/schedules/"+m.scheduleRef(account), object(m.schedule(false)))
}

func (m *maker) apply(account int) {
	var items []string
	for _, i := range m.Perm(4)[:m.IntN(4)] {
		items = append(items, object(append([]string{quoted("key", fmt.Sprint("k", i))}, m.schedule(false)...)))
	}
	members := []string{quoted("owner", fmt.Sprint("o", m.IntN(2))), `"schedules":[` + strings.Join(items, ",") + `]`}
	if m.chance(40) {
		members = append(members, `"prune":true`)
	}
	if m.chance(30) {
		members = append(members, `"all":true`)
	}
	if m.chance(20) {
		members = append(members, `"dry_run":true`)
	}
	c := m.add(account, "POST", "/api/apply", object(members))
	if len(m.tags) > 0 && m.chance(25) {
		c.headers = map[string]string{"If-Match": fmt.Sprintf("<etag:%d>", choose(m, m.tags...))}
	}
	m.tags = append(m.tags, c.number)
}

// of returns one of some calls, seldom of another account; 0 for none.
func (m *maker) of(account int, calls []int) int {
	if m.chance(92) {
		calls = slices.DeleteFunc(slices.Clone(calls), func(number int) bool { return m.calls[number-1].account != account })
	}
	if len(calls) == 0 {
		return 0
	}
	return choose(m, calls...)
}

// jobRef refers to a job, by one of its names.
func (m *maker) jobRef(account int) string {
	number := m.of(account, m.jobs)
	if number == 0 || m.chance(20) {
		return "key:" + m.key()
	}
	return fmt.Sprintf("<%s:%d.%d>", choose(m, "job", "record"), number, m.IntN(4))
}

func (m *maker) scheduleRef(account int) string {
	number := m.of(account, m.plans)
	if number == 0 || m.chance(25) {
		return "key:" + m.key()
	}
	return fmt.Sprintf("<schedule:%d.%d>", number, m.IntN(4))
}

func (m *maker) patchJob(account int) {
	fields := m.fields(fieldsOfRuns)
	if m.chance(50) {
		fields = m.fields(fieldsOfJobs)
	}
	m.ifMatch(m.add(account, "PATCH", "/api/jobs/"+m.jobRef(account), object(fields)))
}

func (m *maker) patchSchedule(account int) {
	m.ifMatch(m.add(account, "PATCH", "/api/schedules/"+m.scheduleRef(account), object(m.fields(fieldsOfSchedules))))
}

func (m *maker) ifMatch(c *call) {
	if m.chance(15) {
		c.headers = map[string]string{"If-Match": choose(m, `"1"`, `"2"`, `*`)}
	}
}

func (m *maker) rerun(account int) {
	body := "{}"
	if m.chance(50) {
		body = object(m.fields(fieldsOfJobs))
	}
	m.created(m.add(account, "POST", "/api/jobs/"+m.jobRef(account)+"/rerun", body))
}

func (m *maker) act(account int) {
	m.created(m.add(account, "POST", "/api/jobs/"+m.jobRef(account)+"/"+choose(m, "cancel", "run"), ""))
}

func (m *maker) actOnSchedule(account int) {
	path := "/api/schedules/" + m.scheduleRef(account)
	switch what := choose(m, "run", "disable", "enable", "delete"); what {
	case "delete":
		m.add(account, "DELETE", path, "")
	default:
		m.add(account, "POST", path+"/"+what, "")
	}
}

func (m *maker) changeLimit(account int) {
	path := "/api/limits/" + choose(m, "l0", "l1", "l1", "host:127.0.0.1")
	if m.chance(50) {
		m.add(account, "DELETE", path, "")
	} else {
		m.add(account, "PUT", path, m.limit())
	}
}

func (m *maker) changeSecret(account int) {
	path := "/api/secrets/" + choose(m, "s0", "s1")
	if m.chance(60) {
		m.add(account, "DELETE", path, "")
	} else {
		m.add(account, "PUT", path, secretBody)
	}
}

func (m *maker) state(account int) {
	path := "/api/schedules/" + m.scheduleRef(account) + "/state"
	switch m.IntN(3) {
	case 0:
		m.add(account, "DELETE", path, "")
	default:
		m.add(account, "PUT", path, fmt.Sprintf(`{"a":%d}`, m.IntN(3)))
	}
}

func (m *maker) operate(account int) {
	action := choose(m, "cancel", "rerun", "run", "reschedule")
	members := []string{quoted("action", action)}
	switch {
	case action == "run": // one job: several would run in any order
		members = append(members, `"filter":{`+quoted("schedule_id", strings.TrimPrefix(m.scheduleRef(account), "key:"))+`}`)
	case m.chance(50):
		members = append(members, `"filter":{`+m.filter()+`}`)
	default:
		members = append(members, `"all":true`)
	}
	if action == "rerun" || action == "reschedule" && m.chance(90) {
		members = append(members, `"set":{"scheduled_at":"2031-02-03T04:05:06Z"}`)
	}
	if m.chance(30) {
		members = append(members, `"dry_run":true`)
	}
	m.batches = append(m.batches, m.add(account, "POST", "/api/operations", object(members)).number)
}

func (m *maker) cancelMany(account int) {
	if m.chance(50) {
		var ids []string
		for range 1 + m.IntN(3) {
			ids = append(ids, strings.Replace(m.jobRef(account), "<job", "<record", 1))
		}
		m.add(account, "POST", "/api/jobs/cancel", `{"job_ids":["`+strings.Join(ids, `","`)+`"]}`)
		return
	}
	m.created(m.add(account, "POST", "/api/jobs/"+m.jobRef(account)+"/cancel", ""))
}
