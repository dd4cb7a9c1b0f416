package eventstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var (
	owner = job.Owner{ID: uuid.New(), Number: 1}
	other = job.Owner{ID: uuid.New(), Number: 2}
)

var somewhere = netip.MustParseAddr("192.0.2.1")

// fakeStore is a store in memory, the newest records last.
type fakeStore struct {
	mu    sync.Mutex
	jobs  []*job.Job
	logs  []*job.Log
	reads int
	fails error
}

func (s *fakeStore) Now() time.Time { return time.Now() }

// list gives the newest of an owner's records.
func list[T any](s *fakeStore, records *[]*T, limit int, wanted func(*T) bool) ([]*T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	var found []*T
	for _, r := range slices.Backward(*records) {
		if len(found) < limit && wanted(r) {
			copied := *r
			found = append(found, &copied)
		}
	}
	return found, s.fails
}

func versions(jobs []*job.Job, err error) (found []store.JobVersion, _ error) {
	for _, j := range jobs {
		found = append(found, store.JobVersion{
			Number: j.Number, ID: j.ID, State: j.State, InsertedAt: j.InsertedAt, ScheduledAt: j.ScheduledAt, DueAt: j.DueAt,
			AttemptedAt: j.AttemptedAt, Size: len(j.Args),
		})
	}
	return found, err
}

func (s *fakeStore) JobVersions(_ context.Context, o job.Owner, limit int) ([]store.JobVersion, error) {
	return versions(list(s, &s.jobs, limit, func(j *job.Job) bool { return j.Owner == o }))
}

func (s *fakeStore) JobVersionsOf(ctx context.Context, o job.Owner, ids []job.Ref) ([]store.JobVersion, error) {
	return versions(s.JobGetMany(ctx, o, ids))
}

func (s *fakeStore) JobVersionsEnded(_ context.Context, o job.Owner, since time.Time, limit int) ([]store.JobVersion, error) {
	return versions(list(s, &s.jobs, limit, func(j *job.Job) bool { return j.Owner == o && !j.CancelledAt.Before(since) && j.State.Final() }))
}

func (s *fakeStore) LogVersions(_ context.Context, o job.Owner, limit int) (found []store.LogVersion, err error) {
	logs, err := list(s, &s.logs, limit, func(l *job.Log) bool { return l.Owner == o })
	for _, l := range logs {
		found = append(found, store.LogVersion{ID: l.ID, Job: l.Job, Size: len(l.Payload)})
	}
	return found, err
}

func (s *fakeStore) LogGetMany(_ context.Context, _ job.Owner, ids []uuid.UUID) ([]*job.Log, error) {
	return list(s, &s.logs, len(ids), func(l *job.Log) bool { return slices.Contains(ids, l.ID) })
}

func (s *fakeStore) JobGetMany(_ context.Context, _ job.Owner, ids []job.Ref) ([]*job.Job, error) {
	return list(s, &s.jobs, len(ids), func(j *job.Job) bool { return slices.Contains(ids, job.Ref{Number: j.Number}) })
}

func (s *fakeStore) LogList(_ context.Context, o job.Owner, q job.LogQuery) ([]*job.Log, error) {
	logs, err := list(s, &s.logs, 1_000_000, func(l *job.Log) bool {
		return l.Owner == o && (q.AfterID == uuid.Nil || bytes.Compare(l.ID[:], q.AfterID[:]) > 0)
	})
	if q.Oldest {
		slices.Reverse(logs)
	}
	return logs[:min(q.Limit, len(logs))], err
}

func (s *fakeStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

func (s *fakeStore) addJob(o job.Owner) *job.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &job.Job{Number: int64(len(s.jobs) + 1), ID: uuid.New(), Owner: o, State: job.Available, InsertedAt: time.Now(),
		Args: []byte(`{}`)}
	s.jobs = append(s.jobs, j)
	copied := *j
	return &copied
}

func (s *fakeStore) addLog(j *job.Job, payload string) *job.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &job.Log{ID: job.NewID(time.Now()), Owner: j.Owner, Job: j.Number, Event: "e", InsertedAt: time.Now(), Payload: []byte(payload)}
	s.logs = append(s.logs, l)
	return l
}

func (s *fakeStore) set(number int64, state job.State) *job.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[number-1]
	j.State = state
	if state == job.Cancelled {
		j.CancelledAt = time.Now()
	}
	copied := *j
	return &copied
}

// reader is a stream being served, and what it got.
type reader struct {
	http.ResponseWriter
	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{}
	stop context.CancelFunc
}

func (r *reader) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *reader) Flush() {}

// got gives what has come since it was last asked: the kind of each event, with
// the job's number and state or the log's payload; comments as they are.
func (r *reader) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []string
	for part := range strings.SplitSeq(strings.TrimSuffix(r.text.String(), "\n\n"), "\n\n") {
		kind, data, _ := strings.Cut(strings.TrimPrefix(part, "event: "), "\n")
		switch kind {
		case "job":
			var number, state string
			_, after, _ := strings.Cut(data, `"job_id":`)
			number, _, _ = strings.Cut(after, ",")
			_, after, _ = strings.Cut(data, `"state":"`)
			state, _, _ = strings.Cut(after, `"`)
			kind += " " + number + " " + state
		case "log":
			_, after, _ := strings.Cut(data, `"payload":`)
			payload, _, _ := strings.Cut(after, `,"user_id"`)
			kind += " " + payload
		}
		if strings.HasPrefix(kind, "job ") && data == "data: {}" {
			kind = "hint"
		}
		events = append(events, kind)
	}
	r.text.Reset()
	return strings.Join(events, ", ")
}

type bench struct {
	*testing.T
	store   *fakeStore
	hub     *Hub
	refusal atomic.Value // an error; none: everybody may follow
}

func (b *bench) permit(context.Context) error {
	refusal, _ := b.refusal.Load().(error)
	return refusal
}

// bubble runs a test with a hub on a fake store, in fake time.
func bubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, store: &fakeStore{}}
		b.hub = New(Config{Store: b.store, Log: slog.New(slog.DiscardHandler)})
		defer b.hub.Close()
		test(b)
	})
}

func (b *bench) open(o job.Owner, last uuid.UUID) *reader {
	b.Helper()
	return b.serve(b.hub.Open(b.Context(), o, somewhere, last))
}

func (b *bench) serve(stream *Stream, err error) *reader {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	r := &reader{ResponseWriter: httptest.NewRecorder(), done: make(chan struct{})}
	ctx, stop := context.WithCancel(b.Context())
	r.stop = stop
	go func() {
		defer close(r.done)
		stream.Serve(r, httptest.NewRequestWithContext(ctx, "GET", "/", nil), b.permit)
	}()
	synctest.Wait()
	return r
}

func (b *bench) want(r *reader, want string) {
	b.Helper()
	synctest.Wait()
	if got := r.got(); got != want {
		b.Errorf("the stream has\n got %s\nwant %s", got, want)
	}
}

func (b *bench) wantEnded(r *reader, ended bool) {
	b.Helper()
	synctest.Wait()
	select {
	case <-r.done:
		if !ended {
			b.Error("the stream has ended")
		}
	default:
		if ended {
			b.Error("the stream goes on")
		}
	}
}

func TestWhatHappensIsToldAtOnceAndOnce(t *testing.T) {
	bubble(t, func(b *bench) {
		before := b.store.addJob(owner)
		b.store.addLog(before, "0")
		r, foreign := b.open(owner, uuid.Nil), b.open(other, uuid.Nil)
		b.want(r, ": following")
		b.hub.Changed(b.store.addJob(owner))
		b.want(r, "job 2 available")
		time.Sleep(minPause)
		b.store.set(2, job.Executing)
		b.store.addLog(&job.Job{Number: 2, Owner: owner}, "1")
		b.hub.Wake(owner.Number)
		b.want(r, "job 2 executing, log 1")
		time.Sleep(minPause)
		b.hub.Changed(b.store.set(1, job.Cancelled))
		b.want(r, "job 1 cancelled")
		for range 3 {
			b.hub.Wake(owner.Number)
			time.Sleep(time.Second)
		}
		b.want(r, "")
		b.want(foreign, ": following")
	})
}

func TestARoundIsNotMadeForEachOfManyWakings(t *testing.T) {
	bubble(t, func(b *bench) {
		r := b.open(owner, uuid.Nil)
		before := b.store.count()
		for range 1000 {
			b.hub.Wake(owner.Number)
			time.Sleep(time.Millisecond)
		}
		if rounds := (b.store.count() - before) / 2; rounds > 7 {
			b.Errorf("%d rounds in a second", rounds)
		}
		r.stop()
		b.wantEnded(r, true)
		before = b.store.count()
		b.hub.Wake(owner.Number)
		time.Sleep(time.Minute)
		if b.store.count() != before {
			b.Error("the store is read while nobody watches")
		}
	})
}

// TestWhatOtherNodesDidIsToldWithinASecondOrSo: nobody wakes the watcher.
func TestWhatOtherNodesDidIsToldWithinASecondOrSo(t *testing.T) {
	bubble(t, func(b *bench) {
		for range 2 * roundJobs {
			b.store.addJob(owner)
		}
		r := b.open(owner, uuid.Nil)
		b.want(r, ": following")
		b.store.addLog(b.store.addJob(owner), "1")
		b.store.set(1, job.Cancelled) // long not among the newest
		time.Sleep(pollEvery + minPause)
		b.want(r, fmt.Sprintf("job 1 cancelled, job %d available, log 1", 2*roundJobs+1))
		time.Sleep(10 * pollEvery)
		b.want(r, "")
	})
}

func TestOfAFloodAPartIsToldAndThatItIsOne(t *testing.T) {
	bubble(t, func(b *bench) {
		r := b.open(owner, uuid.Nil)
		j := b.store.addJob(owner)
		for i := range 3 * roundLogs {
			b.store.addLog(j, fmt.Sprint(i))
		}
		b.hub.Wake(owner.Number)
		synctest.Wait()
		got := strings.Split(r.got(), ", ")
		if len(got) != roundLogs+3 || got[1] != "skipped" || got[len(got)-1] != fmt.Sprint("log ", 3*roundLogs-1) {
			b.Errorf("%d events: %s", len(got), got)
		}
	})
}

func TestASlowReaderIsCutOffAndHoldsNobodyUp(t *testing.T) {
	bubble(t, func(b *bench) {
		slow, err := b.hub.Open(b.Context(), owner, somewhere, uuid.Nil) // served by nobody yet
		if err != nil {
			b.Fatal(err)
		}
		r := b.open(owner, uuid.Nil)
		j := b.store.addJob(owner)
		for i := range 2 * maxQueued / (10 * maxSmall) {
			for range 10 {
				b.store.addLog(j, `"`+strings.Repeat("x", maxSmall-10)+fmt.Sprint(i)+`"`)
			}
			b.hub.Wake(owner.Number)
			time.Sleep(2 * minPause)
			if got := r.got(); !strings.Contains(got, fmt.Sprint(i)) {
				b.Fatalf("the other reader has %d bytes after %d rounds", len(got), i)
			}
		}
		if _, behind := slow.take(); !behind {
			b.Error("the slow reader is not behind")
		}
		late := &reader{ResponseWriter: httptest.NewRecorder()}
		slow.Serve(late, httptest.NewRequestWithContext(b.Context(), "GET", "/", nil), b.permit)
		if len(slow.queue) != 0 {
			b.Errorf("%d events are kept for it", len(slow.queue))
		}
		b.wantEnded(r, false)
	})
}

func TestAClientThatComesBackGetsWhatItHasMissed(t *testing.T) {
	bubble(t, func(b *bench) {
		j := b.store.addJob(owner)
		var logs []*job.Log
		for i := range 250 {
			logs = append(logs, b.store.addLog(j, fmt.Sprint(i)))
			time.Sleep(time.Microsecond)
		}
		r := b.open(owner, logs[246].ID)
		b.want(r, ": following, log 247, log 248, log 249")
		b.store.addLog(j, "250")
		b.hub.Wake(owner.Number)
		b.want(r, "log 250")
		for i := range replayPage * replayPages {
			b.store.addLog(j, fmt.Sprint(i))
			time.Sleep(time.Microsecond)
		}
		got := strings.Split(b.open(owner, logs[0].ID).got(), ", ")
		if len(got) != replayPage*replayPages+2 || got[1] != "log 1" || got[len(got)-1] != "skipped" {
			b.Errorf("after a long time away: %d events, %s, %s, last %s", len(got), got[0], got[1], got[len(got)-1])
		}
	})
}

func TestSoManyStreamsAnAccount(t *testing.T) {
	bubble(t, func(b *bench) {
		var readers []*reader
		for range MaxStreams {
			readers = append(readers, b.open(owner, uuid.Nil))
		}
		_, err := b.hub.Open(b.Context(), owner, somewhere, uuid.Nil)
		if fault.CodeOf(err) != fault.TooMany {
			b.Errorf("one more: %v", err)
		}
		b.open(other, uuid.Nil)
		readers[3].stop()
		b.wantEnded(readers[3], true)
		b.open(owner, uuid.Nil)
	})
}

func TestAStreamSaysThatItIsAliveAndEndsAfterAWhile(t *testing.T) {
	bubble(t, func(b *bench) {
		r := b.open(owner, uuid.Nil)
		time.Sleep(2 * beatEvery)
		b.want(r, ": following, :, :")
		time.Sleep(maxLife - 2*beatEvery)
		b.wantEnded(r, true)
		if n := b.hub.watched.Load(); n != 0 {
			b.Errorf("%d accounts are watched still", n)
		}
	})
}

func TestAStreamEndsWithWhatPermittedIt(t *testing.T) {
	bubble(t, func(b *bench) {
		r := b.open(owner, uuid.Nil)
		b.refusal.Store(error(fault.New(fault.Unavailable, "nobody knows")))
		time.Sleep(beatEvery)
		b.want(r, ": following, :")
		b.wantEnded(r, false)
		b.refusal.Store(error(fault.New(fault.Unauthorized, "the key was revoked")))
		time.Sleep(beatEvery)
		b.want(r, "")
		b.wantEnded(r, true)
		b.refusal.Store(error(fault.New(fault.Forbidden, "the account is suspended")))
		r = b.open(owner, uuid.Nil)
		time.Sleep(beatEvery)
		b.want(r, ": following")
		b.wantEnded(r, true)
	})
}

func TestClosingTheHubEndsEverything(t *testing.T) {
	bubble(t, func(b *bench) {
		r := b.open(owner, uuid.Nil)
		b.hub.Close()
		b.wantEnded(r, true)
		if _, err := b.hub.Open(b.Context(), owner, somewhere, uuid.Nil); fault.CodeOf(err) != fault.Unavailable {
			b.Errorf("Open of a closed hub gives %v", err)
		}
		b.hub.Wake(owner.Number)
	})
}

func TestAStoreThatFailsEndsNothing(t *testing.T) {
	bubble(t, func(b *bench) {
		fail := func(err error) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			b.store.fails = err
		}
		broken := errors.New("down")
		fail(broken)
		if _, err := b.hub.Open(b.Context(), owner, somewhere, uuid.Nil); !errors.Is(err, broken) {
			b.Errorf("Open gives %v", err)
		}
		fail(nil)
		r := b.open(owner, uuid.Nil)
		b.want(r, ": following")
		fail(broken)
		b.hub.Changed(b.store.addJob(owner))
		time.Sleep(3 * pollEvery)
		b.want(r, "")
		fail(nil)
		time.Sleep(2 * pollEvery)
		b.want(r, "job 1 available")
	})
}

func TestARoundThatFailsLosesNoChange(t *testing.T) {
	bubble(t, func(b *bench) {
		old := b.store.addJob(owner)
		for range roundJobs + 5 {
			b.store.addJob(owner)
		}
		r := b.open(owner, uuid.Nil)
		b.want(r, ": following")
		fail := func(err error) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			b.store.fails = err
		}
		fail(errors.New("down"))
		b.hub.Changed(b.store.set(old.Number, job.Retryable))
		time.Sleep(3 * pollEvery)
		b.want(r, "")
		fail(nil)
		time.Sleep(2 * pollEvery)
		b.want(r, "job 1 retryable")
	})
}

func TestHintsTellThatThereIsSomethingOnceASecond(t *testing.T) {
	bubble(t, func(b *bench) {
		r := b.serve(b.hub.OpenHints(b.Context(), owner, somewhere, b.store.Now()))
		b.want(r, ": following")
		for range 10 {
			b.hub.Changed(b.store.addJob(owner))
			time.Sleep(2 * minPause)
		}
		b.want(r, "hint, hint, hint, hint, hint")
		time.Sleep(10 * pollEvery)
		if got := r.got(); got != "hint" && got != "" {
			b.Errorf("nothing happens, and the stream has %s", got)
		}
		for range MaxStreams {
			b.open(owner, uuid.Nil)
		}
		for i := range MaxHints - 1 {
			if _, err := b.hub.OpenHints(b.Context(), owner, netip.AddrFrom4([4]byte{192, 0, 2, byte(2 + i/maxOfNetwork)}),
				time.Time{}); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := b.hub.OpenHints(b.Context(), owner, netip.MustParseAddr("192.0.2.99"),
			time.Time{}); fault.CodeOf(err) != fault.TooMany {
			b.Errorf("one more: %v", err)
		}
	})
}

func TestSoManyStreamsANetworkAddressAndInAll(t *testing.T) {
	bubble(t, func(b *bench) {
		var streams []*Stream
		open := func(i int, address netip.Addr) error {
			s, err := b.hub.Open(b.Context(), job.Owner{ID: uuid.New(), Number: int64(i/MaxStreams + 1)}, address, uuid.Nil)
			if err == nil {
				streams = append(streams, s)
			}
			return err
		}
		for i := range maxOfAll {
			if err := open(i, netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i))); (i < maxOfNetwork) != (err == nil) {
				b.Fatalf("stream %d of a network: %v", i, err)
			}
		}
		for i := maxOfNetwork; i < maxOfAll; i++ {
			if err := open(i, netip.AddrFrom4([4]byte{192, 0, 2, byte(i / maxOfNetwork)})); err != nil {
				b.Fatalf("stream %d of all: %v", i, err)
			}
		}
		if err := open(1<<20, netip.MustParseAddr("192.0.2.200")); fault.CodeOf(err) != fault.TooMany {
			b.Errorf("one more: %v", err)
		}
		for _, s := range streams {
			s.Close()
		}
		if len(b.hub.networks)+len(b.hub.watchers)+b.hub.open[false] != 0 {
			b.Errorf("left are %v, %v", b.hub.networks, b.hub.open)
		}
	})
}

// TestLargeRecordsAreReadWhenTheyAreWritten: no stream holds more than it must.
func TestLargeRecordsAreReadWhenTheyAreWritten(t *testing.T) {
	bubble(t, func(b *bench) {
		slow, err := b.hub.Open(b.Context(), owner, somewhere, uuid.Nil) // served by nobody yet
		if err != nil {
			b.Fatal(err)
		}
		r := b.open(owner, uuid.Nil)
		j := b.store.addJob(owner)
		for i := range 3 {
			b.store.addLog(j, `"`+strings.Repeat("x", 4*maxQueued)+fmt.Sprint(i)+`"`)
		}
		b.store.addLog(j, `"small"`)
		b.hub.Wake(owner.Number)
		time.Sleep(minPause)
		synctest.Wait()
		got := r.got()
		if len(got) < 12*maxQueued || !strings.Contains(got, `0", log "x`) || !strings.Contains(got, `1", log "x`) ||
			!strings.HasSuffix(got, `2", log "small"`) {
			b.Errorf("%d bytes are written, %.80s", len(got), got)
		}
		if slow.size > 10_000 || b.hub.held.Load() > 10_000 {
			b.Errorf("%d bytes wait for the slow one", slow.size)
		}
		slow.Close()
		if b.hub.held.Load() != 0 {
			b.Errorf("%d bytes are held for nobody", b.hub.held.Load())
		}
	})
}
