package copydb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestCopy_CopiesAllRecords(t *testing.T) {
	t.Parallel()
	betweenAll(t, func(t *testing.T, from, to store.Copyable) {
		result := copyAll(t, from, to)
		wantSame(t, from, to)
		want := "[{accounts 2} {people 3} {members 6} {keys 6} {secrets 4} {alerts 4} {recipients 6} {schedules 6} {jobs 626} {logs 66} {requests 2} {waits 4} {deliveries 10} {audits 15}]"
		if got := fmt.Sprint(result.Counts); got != want || result.Resumed {
			t.Errorf("copied %s, resumed %t; want %s at once", got, result.Resumed, want)
		}
		if unfinished, err := to.CopyUnfinished(t.Context()); unfinished || err != nil {
			t.Errorf("the copy counts as unfinished: %t, %v", unfinished, err)
		}
		if _, stored, err := to.WaitSweep(t.Context(), store.WaitCursor{}, 100); stored != 2 || err != nil {
			t.Errorf("the sweep of the copy finds %d ends of awaited jobs, %v; want 2", stored, err)
		}
	})
}

func TestCopy_SkipsExpiredSecrets(t *testing.T) {
	t.Parallel()
	betweenAll(t, func(t *testing.T, from, to store.Copyable) {
		copyAll(t, from, to)
		a, err := to.AccountGet(t.Context(), "bob@example.com")
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Secrets) != 2 || a.Secrets[0].Value != "whsec_current" || a.Secrets[1].Value != "whsec_before" {
			t.Errorf("the copy has the secrets %v", a.Secrets)
		}
	})
}

func TestCopy_NewNumbersFollowTheCopiedOnes(t *testing.T) {
	t.Parallel()
	betweenAll(t, func(t *testing.T, from, to store.Copyable) {
		copyAll(t, from, to)
		last, err := from.JobLast(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := newFiller(t, to)
		owner := f.account("new@example.com")
		if owner.Number <= 2 {
			t.Errorf("a new account has the number %d", owner.Number)
		}
		j := f.insert(f.newJob(owner, f.now))
		if j.Number <= last {
			t.Errorf("a new job has the number %d, the source's last was %d", j.Number, last)
		}
		before, err := to.DeliveryPage(t.Context(), 0, 100)
		f.ok(err)
		f.claim(j, f.delivery(j, job.Callback, ""))
		after, err := to.DeliveryPage(t.Context(), before[len(before)-1].Number, 100)
		f.ok(err)
		if len(after) != 1 {
			t.Errorf("%d deliveries are behind the copied ones, want the new one", len(after))
		}
		for _, account := range []int64{0, 1} {
			f.audits(account) // three new entries, and four that are counted in copied ones
			entries, err := to.AuditList(t.Context(), account, "", uuid.Nil, 100)
			f.ok(err)
			if len(entries) != 8 {
				t.Errorf("account %d has %d entries in the audit log", account, len(entries))
			}
		}
	})
}

func TestCopy_OfACopy(t *testing.T) {
	t.Parallel()
	betweenAll(t, func(t *testing.T, from, to store.Copyable) {
		copyAll(t, from, to)
		back := openSQLite(t)
		copyAll(t, to, back)
		wantSame(t, from, back)
	})
}

// cut is a target whose connection fails at a write, before or after the write
// has taken effect.
type cut struct {
	store.Copyable
	left   int // writes until then
	before bool
}

var errCut = errors.New("the connection failed")

func (c *cut) CopyWrite(ctx context.Context, source, mark string, records *store.Records) error {
	c.left--
	if c.left == 0 && c.before {
		return errCut
	}
	err := c.Copyable.CopyWrite(ctx, source, mark, records)
	if c.left == 0 {
		return errCut
	}
	return err
}

// The test interrupts a copy at every write in turn.
func TestCopy_ResumesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	betweenAll(t, func(t *testing.T, from, to store.Copyable) {
		for _, before := range []bool{false, true} {
			if before {
				to = openSQLite(t)
			}
			counted, cuts := 0, 0
			for cutOff(t, from, to, &counted, before) {
				cuts++
			}
			if cuts < 6 {
				t.Errorf("the copy was interrupted only %d times", cuts)
			}
			wantSame(t, from, to)
			records := 0
			for _, c := range copiedCounts(t, from) {
				records += int(c.Records)
			}
			if counted != records {
				t.Errorf("%d records were written to copy %d", counted, records)
			}
		}
	})
}

// cutOff resumes a copy and interrupts it after its first write, or before the
// second one takes effect. It reports whether the copy got that far.
func cutOff(t *testing.T, from, to store.Copyable, counted *int, before bool) bool {
	t.Helper()
	c := &cut{Copyable: &counter{to, counted}, left: 1}
	if before {
		c = &cut{Copyable: &counter{to, counted}, left: 2, before: true}
	}
	_, err := Copy(t.Context(), from, c, func(Progress) {})
	if err == nil {
		return false
	}
	if !errors.Is(err, errCut) || !strings.Contains(err.Error(), "start the same command again to go on") {
		t.Fatalf("the interrupted copy says: %v", err)
	}
	if unfinished, err := to.CopyUnfinished(t.Context()); !unfinished || err != nil {
		t.Fatalf("an interrupted copy does not count as unfinished: %v", err)
	}
	return true
}

func copiedCounts(t *testing.T, s store.Copyable) []Count {
	t.Helper()
	counts, err := compare(t.Context(), s, s, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// counter counts the records that are written.
type counter struct {
	store.Copyable
	n *int
}

func (c *counter) CopyWrite(ctx context.Context, source, mark string, r *store.Records) error {
	*c.n += len(r.Accounts) + len(r.People) + len(r.Members) + len(r.Keys) + len(r.HeaderSecrets) + len(r.Alerts) + len(r.Recipients) +
		len(r.Schedules) + len(r.Jobs) + len(r.Logs) + len(r.Requests) + len(r.Waits) + len(r.Deliveries) + len(r.Audits)
	return c.Copyable.CopyWrite(ctx, source, mark, r)
}

func TestCopy_StoppedCopySaysHowToResume(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t), openSQLite(t)
	newFiller(t, from).fill()
	ctx, stop := context.WithCancel(t.Context())
	_, err := Copy(ctx, from, to, func(p Progress) {
		if p.Section == "jobs" {
			stop()
		}
	})
	if err == nil || err.Error() != "the copy was stopped; start the same command again to go on" {
		t.Errorf("the stopped copy says: %v", err)
	}
	if result := copyAll(t, from, to); !result.Resumed {
		t.Error("the copy started from the beginning")
	}
	wantSame(t, from, to)
}

func wantRefused(t *testing.T, from, to store.Copyable, sentence string) {
	t.Helper()
	before := dump(t, to)
	_, err := Copy(t.Context(), from, to, func(Progress) {})
	if err == nil || fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), sentence) {
		t.Errorf("want a refusal with %q, got %v", sentence, err)
	}
	if dump(t, to) != before {
		t.Error("the refused target was changed")
	}
}

func TestCopy_RefusesAnUnusableTarget(t *testing.T) {
	t.Parallel()
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := pair.from(t)
			newFiller(t, from).fill()

			used := pair.to(t)
			newFiller(t, used).account("someone@example.com")
			wantRefused(t, from, used, "it is not empty")

			whole := pair.to(t)
			copyAll(t, from, whole)
			wantRefused(t, from, whole, "a finished copy of the same records already")

			other, half := openSQLite(t), pair.to(t)
			newFiller(t, other).fill()
			if _, err := Copy(t.Context(), other, &cut{half, 4, false}, func(Progress) {}); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			wantRefused(t, from, half, "an unfinished copy of other records")
		})
	}
}

func TestCopyWrite_RefusedWithoutACopyUnderWay(t *testing.T) {
	t.Parallel()
	betweenAll(t, func(t *testing.T, from, to store.Copyable) {
		records := &store.Records{Accounts: []*identity.Account{{Owner: job.Owner{ID: uuid.New(), Number: 1}, Email: "a@example.com"}}}
		refused := func(err error) {
			t.Helper()
			if fault.CodeOf(err) != fault.Invalid {
				t.Errorf("want a refusal, got %v", err)
			}
		}
		refused(to.CopyWrite(t.Context(), "source", "accounts/1/", records))
		refused(to.CopyEnd(t.Context(), "source", 0))
		if accounts, err := to.AccountList(t.Context()); len(accounts) > 0 || err != nil {
			t.Errorf("there are accounts: %v, %v", accounts, err)
		}
	})
}

func TestCopy_RefusesAnEmptySource(t *testing.T) {
	t.Parallel()
	to := openSQLite(t)
	if _, err := Copy(t.Context(), openSQLite(t), to, func(Progress) {}); err == nil || !strings.Contains(err.Error(), "nothing to copy") {
		t.Errorf("got %v", err)
	}
	if unfinished, err := to.CopyUnfinished(t.Context()); unfinished || err != nil {
		t.Errorf("a copy has begun: %t, %v", unfinished, err)
	}
}

// weigher is a target that records the size of the largest batch.
type weigher struct {
	store.Copyable
	writes, largest, most int // most records at once
}

func (w *weigher) CopyWrite(ctx context.Context, source, mark string, r *store.Records) error {
	bytes := 0
	for _, j := range r.Jobs {
		bytes += len(j.Args)
	}
	w.writes++
	w.largest, w.most = max(w.largest, bytes), max(w.most, len(r.Jobs))
	return w.Copyable.CopyWrite(ctx, source, mark, r)
}

func TestCopy_BoundsTheBytesOfABatch(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t), openSQLite(t)
	f := newFiller(t, from)
	owner := f.account("large@example.com")
	const size, n = 1 << 20, 20
	for range n {
		large := f.newJob(owner, f.now)
		large.Job.Args = rawjson.Value(`{"url":"https://example.com","body":"` + strings.Repeat("x", size) + `"}`)
		f.insert(large)
	}
	w := &weigher{Copyable: to}
	copyAll(t, from, w)
	if w.largest > maxBytes+2*size {
		t.Errorf("a batch had %d bytes", w.largest)
	}
	if w.writes > n/2 {
		t.Errorf("%d large records took %d writes", n, w.writes)
	}
}

func TestCopy_FillsBatches(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t), openSQLite(t)
	f := newFiller(t, from)
	owner := f.account("many@example.com")
	var many []store.NewJob
	for range 2 * maxPage {
		many = append(many, f.newJob(owner, f.now))
	}
	_, err := f.s.JobInsertMany(f.ctx, many)
	f.ok(err)
	w := &weigher{Copyable: to}
	copyAll(t, from, w)
	if w.most != maxPage || w.writes != 5 { // of the account, its people and members
		t.Errorf("%d writes with up to %d jobs, want 5 with %d", w.writes, w.most, maxPage)
	}
}
