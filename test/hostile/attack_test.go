package hostile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

const (
	// strictWindow is how long an attack runs on a quiet machine. Elsewhere a longer
	// or a shorter time must do: what harms by a single call does so at once.
	strictWindow = 1200 * time.Millisecond
	longWindow   = time.Second
	shortWindow  = 500 * time.Millisecond
	// after is how long the aftermath of an attack is watched.
	after = 250 * time.Millisecond
	// calm is for how long timers are watched on a machine that should be quiet: before an
	// attack, and once more after one by which the victim seems to have been harmed.
	calm = 250 * time.Millisecond
	// overrun is how long an attack may take to end when its window has.
	overrun = 30 * time.Second
	// strictLateness is the victim's 99th percentile that an attack must not
	// exceed on a quiet machine, busyLateness on one that may be slow or busy; each
	// beside what the machine itself is late.
	strictLateness = 250 * time.Millisecond
	busyLateness   = time.Second
	// tries is how often an attack that seems to succeed is made.
	tries = 3
)

// attack is a way to harm the service or its other users.
type attack struct {
	name string
	// run attacks until the context ends. It returns early when the attack is
	// over by itself.
	run func(ctx context.Context, s *strike)
}

// strike is one attack being made.
type strike struct {
	*arena
	t       *testing.T
	random  *rand.Rand
	address string // that it comes from
	client  *http.Client

	mu      sync.Mutex
	account *harness.Account // see own
}

// kinds are all attacks, a table for each kind, with the time that each needs.
var kinds = []struct {
	name    string
	window  time.Duration
	attacks []attack
}{
	{"request", shortWindow, requestAttacks},
	{"form", shortWindow, formAttacks},
	{"connection", longWindow, connectionAttacks},
	{"read", shortWindow, readAttacks},
	{"change", longWindow, changeAttacks},
	{"slots", longWindow, slotAttacks},
	{"response", shortWindow, responseAttacks},
	{"protocol", shortWindow, protocolAttacks},
	{"people", shortWindow, peopleAttacks},
	{"schedule", longWindow, scheduleAttacks},
	{"control", longWindow, controlAttacks},
	{"listener", longWindow, listenerAttacks},
	{"secret", longWindow, secretAttacks},
	{"agent", shortWindow, agentAttacks},
	{"qstash", shortWindow, qstashAttacks},
	{"google", shortWindow, googleAttacks},
	{"rehearsal", shortWindow, rehearseAttacks},
}

// wantAttacks is how many attacks there are at the least.
const wantAttacks = 388

// atOnce is how many attacks are made at once, each on a service of its own. Most of
// an attack's window is waiting, which leaves processors idle. On a quiet machine, where
// the victim must not be late at all, it is one.
func atOnce() int {
	if strict() {
		return 1
	}
	return 3
}

func TestHostile(t *testing.T) {
	type planned struct {
		attack attack
		name   string
		window time.Duration
		number int
	}
	var plan []planned
	for _, kind := range kinds {
		for _, attack := range kind.attacks {
			plan = append(plan, planned{attack, kind.name + "/" + attack.name, kind.window, len(plan) + 1})
		}
	}
	if len(plan) < wantAttacks {
		t.Errorf("there are %d attacks; expected at least %d", len(plan), wantAttacks)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	next := make(chan planned, len(plan))
	for _, p := range plan {
		next <- p
	}
	close(next)
	arenas := make([]*arena, atOnce())
	for i := range arenas {
		arenas[i] = newArena(t, harness.SecretsKey(t), harness.Flag("public-url", "https://punctual.example.com"),
			harness.Flag("google-listen", "127.0.0.1:0"), harness.Flag("trusted-proxies", "127.0.0.0/16"))
	}
	var all sync.WaitGroup
	for _, a := range arenas {
		all.Go(func() {
			for p := range next {
				t.Run(p.name, func(t *testing.T) { a.withstand(t, p.attack, p.window, seed+uint64(p.number), p.number) })
				if a.peak() < 0 {
					t.Errorf("the program ended; see %s", p.name)
					return
				}
			}
			a.settle(t)
		})
	}
	all.Wait()
}

// settle ends the victim's work and fails the test unless each of its jobs was sent
// once.
func (a *arena) settle(t *testing.T) {
	a.stopVictim()
	a.victim.between(time.Time{}, time.Now().Add(2*ahead))
	if found := a.victim.wrong(); len(found) > 0 {
		t.Errorf("of the victim's jobs %d were not sent exactly once: %v", len(found), found[:min(10, len(found))])
	}
}

// withstand makes an attack and fails the test when it succeeds each time.
func (a *arena) withstand(t *testing.T, attack attack, window time.Duration, seed uint64, number int) {
	if strict() {
		window = strictWindow
	}
	var harm []string
	for range tries {
		if harm = a.strike(t, attack, window, seed, number); len(harm) == 0 {
			return
		}
		t.Logf("%s: %v", attack.name, harm)
	}
	t.Errorf("the attack succeeded %d times in a row: %v", tries, harm)
}

// strike makes an attack once and returns the harm it did.
func (a *arena) strike(t *testing.T, attack attack, window time.Duration, seed uint64, number int) (harm []string) {
	address := fmt.Sprintf("127.0.%d.%d", 1+number/200, 1+number%200)
	s := &strike{arena: a, t: t, random: rand.New(rand.NewPCG(seed, 0)), address: address, client: a.from(address)}
	before := a.calm(t)
	a.resetPeak()
	from := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), window)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		attack.run(ctx, s)
	}()
	select {
	case <-done:
	case <-time.After(window + pace.Guard(overrun)):
		t.Fatalf("the attack did not end within %s", window+pace.Guard(overrun))
	}
	until := time.Now().Add(after)
	pause(t.Context(), after)
	r := a.victim.between(from, until)
	busy := a.machine.Late(from, 0.99)
	s.leave()
	peak := a.peak()
	t.Logf("machine: %s before, timers %s late during the attack; victim: %d jobs, p99 %s, worst %s; memory %d MiB",
		before, busy.Round(time.Millisecond), r.jobs, r.p99.Round(time.Millisecond), r.worst.Round(time.Millisecond), peak>>20)
	switch {
	case peak < 0:
		return []string{"the program ended"}
	case r.jobs == 0:
		return []string{"no job of the victim was due"}
	}
	if a.tooLate(t, r.p99, before, from) {
		harm = append(harm, fmt.Sprintf("the victim's p99 was %s; refusals: %v", r.p99, r.refusals[:min(3, len(r.refusals))]))
	}
	if peak > memoryLimit {
		harm = append(harm, fmt.Sprintf("the process used %d MiB", peak>>20))
	}
	if bad := a.badStatuses(); len(bad) > 0 {
		slices.Sort(bad)
		harm = append(harm, fmt.Sprintf("%d bad responses, such as %s", len(bad), bad[0]))
	}
	return harm
}

// strict reports whether the machine is quiet: PUNCTUAL_HOSTILE_STRICT is set, as
// `make hostile` does.
func strict() bool { return os.Getenv("PUNCTUAL_HOSTILE_STRICT") != "" }

// calmness is what was measured of a machine while no attack was made.
type calmness struct {
	late time.Duration // a timer
	pace float64       // how much longer work took than on a machine with nothing else to do
}

func (c calmness) String() string {
	return fmt.Sprintf("timers %s late, work takes %.1f times as long", c.late.Round(100*time.Microsecond), c.pace)
}

// limit returns the victim's limit on such a machine.
func (c calmness) limit() time.Duration {
	return time.Duration(float64(strictLateness)*c.pace) + pace.Wakes*c.late
}

// calm measures the machine, if it should be quiet.
func (a *arena) calm(t *testing.T) calmness {
	if !strict() {
		return calmness{pace: 1}
	}
	from := time.Now()
	pause(t.Context(), calm)
	return calmness{a.machine.Late(from, 0.99), pace.Present()}
}

// tooLate reports whether the victim was later than an attack may make it that began at a
// time, given what was measured before. On a machine that should be quiet nothing is
// allowed for that the attack itself may have caused; elsewhere other programs may take the
// processor from the victim at any time.
func (a *arena) tooLate(t *testing.T, p99 time.Duration, before calmness, from time.Time) bool {
	if !strict() {
		return p99 > pace.Limit(busyLateness)+a.machine.Slack(from)
	}
	if p99 <= before.limit() {
		return false
	}
	after := a.calm(t)
	t.Logf("machine: %s after", after)
	return p99 > after.limit()
}

// own returns the key of an account that exists for this strike only.
func (s *strike) own() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		s.account = s.service.Account(s.t)
	}
	return s.account.Key
}

// leave deletes the strike's account, so that its jobs harm no later victim.
func (s *strike) leave() {
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != nil {
		s.service.Command(s.t, "accounts", "delete", s.account.Email, "--yes")
		s.account = nil
	}
}

// key returns the key of one of the attackers, who keep nothing.
func (s *strike) key() string { return s.keys[0] }

// call makes a call from the strike's address.
func (s *strike) call(method, path, key string, body []byte, headers ...string) (int, string) {
	return s.send(s.client, method, path, key, body, headers...)
}

// flood has workers do something again and again until the context ends.
func (s *strike) flood(ctx context.Context, workers int, do func(n int)) {
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for n := w; ctx.Err() == nil; n += workers {
				do(n)
			}
		})
	}
	all.Wait()
}

// each does something n times, by workers at once, unless the context ends.
func (s *strike) each(ctx context.Context, workers, n int, do func(i int)) {
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n && ctx.Err() == nil; i += workers {
				do(i)
			}
		})
	}
	all.Wait()
}

// create creates a job from the members of its body, and returns its integer id,
// "" when it was refused.
func (s *strike) create(key, members string) string {
	status, text := s.call(http.MethodPost, "/api/jobs", key, []byte("{"+members+"}"))
	if status != http.StatusCreated {
		return ""
	}
	return between(text, `"job_id":`, ",")
}
