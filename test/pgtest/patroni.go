package pgtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/ports"
)

// Patroni is some PostgreSQL servers, of which Patroni makes one the primary and
// the others its standbys. At any time a commit waits for one of them. An etcd
// records who is the primary.
type Patroni struct {
	Members []*Member

	dir   string
	guard *os.File
	etcd  *daemon
}

// Settings of Patroni, in seconds. A primary that can't reach etcd for RetryTimeout
// becomes a standby; one that has not told etcd for TTL that it is there is
// replaced. Patroni wants LoopWait + 2 × RetryTimeout ≤ TTL, and newer versions a
// TTL of at least 20.
const (
	PatroniTTL          = 20
	PatroniLoopWait     = 1
	PatroniRetryTimeout = 8
)

// Link is a path in the network of a Patroni cluster.
type Link string

// The links of each member.
const (
	ToEtcd      Link = "etcd"        // from it to etcd
	Replication Link = "replication" // from its standbys to its server
	API         Link = "api"         // from other members and patronictl to its Patroni
)

// Network returns the port at which a link of a member begins that ends at an
// address.
type Network func(member int, link Link, address string) (port int)

// StartPatroni runs members, one etcd and a Patroni for each member, for one test,
// and returns when there are a primary and a synchronous standby.
func StartPatroni(t testing.TB, members int, network Network) *Patroni {
	t.Helper()
	p, err := startPatroni(members, network)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.logs())
		}
		p.remove()
	})
	return p
}

func startPatroni(members int, network Network) (*Patroni, error) {
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	p := &Patroni{dir: dir}
	if p.guard, err = guard(dir, patroniGuardian); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	err = p.startAll(members, network)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.logs())
		p.remove()
		return nil, err
	}
	return p, nil
}

// patroniGuardian is guardian for all processes of a cluster.
const patroniGuardian = `read _
for f in "$1"/*/pid; do
	pid=$(cat "$f") && ` + isOurs + ` && kill -KILL "$pid"
done
for f in "$1"/*/data/postmaster.pid; do
	pid=$(head -n 1 "$f")
	` + endServer + `done
` + removeFiles

func (p *Patroni) startAll(members int, network Network) error {
	if err := own(p.dir); err != nil {
		return err
	}
	etcd, err := p.startEtcd()
	if err != nil {
		return err
	}
	for i := range members {
		m, err := p.member(i, etcd, network)
		if err != nil {
			return err
		}
		p.Members = append(p.Members, m)
		if err := m.Run(); err != nil {
			return err
		}
	}
	for _, m := range p.Members {
		if err := m.patroni.await(func() bool { return answers(fmt.Sprintf("http://127.0.0.1:%d/liveness", m.api)) }); err != nil {
			return err
		}
	}
	return p.AwaitWhole(2 * startWithin())
}

// startEtcd runs an etcd of one member and returns its address.
func (p *Patroni) startEtcd() (address string, err error) {
	client, err1 := ports.Pick()
	peer, err2 := ports.Pick()
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	address = fmt.Sprintf("127.0.0.1:%d", client)
	peers := fmt.Sprintf("http://127.0.0.1:%d", peer)
	p.etcd = &daemon{dir: filepath.Join(p.dir, "etcd"), name: "etcd"}
	if err := makeOwn(p.etcd.dir); err != nil {
		return "", err
	}
	err = p.etcd.start("--name", "etcd", "--data-dir", filepath.Join(p.etcd.dir, "data"),
		"--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "etcd="+peers)
	if err != nil {
		return "", err
	}
	return address, p.etcd.await(func() bool { return answers("http://" + address + "/health") })
}

// makeOwn makes a directory of the account that programs run as.
func makeOwn(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return own(dir)
}

// own gives a directory to the account that programs run as.
func own(dir string) error {
	credential, err := account()
	if err != nil || credential == nil {
		return err
	}
	return os.Chown(dir, int(credential.Uid), int(credential.Gid))
}

// asker asks what runs on loopback.
var asker = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// answers reports whether a URL is answered with 200.
func answers(url string) bool {
	resp, err := asker.Get(url)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// state is what Patroni's API tells of a cluster, as far as it matters here.
type state struct {
	Members []struct {
		Name, Role, State string
		Timeline          int
	}
}

// whole reports whether all members run on one timeline, and one of them is the
// primary and another one its synchronous standby.
func (s *state) whole(members int) bool {
	roles, timelines := map[string]int{}, map[int]bool{}
	for _, m := range s.Members {
		if m.State == "running" || m.State == "streaming" {
			roles[m.Role]++
			timelines[m.Timeline] = true
		}
	}
	return roles["leader"] == 1 && roles["sync_standby"] > 0 && len(timelines) == 1 &&
		roles["leader"]+roles["sync_standby"]+roles["replica"] == members
}

// ask reads the state from any member that responds.
func (p *Patroni) ask() (s state, err error) {
	for _, m := range p.Members {
		var resp *http.Response
		if resp, err = asker.Get(fmt.Sprintf("http://127.0.0.1:%d/cluster", m.api)); err != nil {
			continue
		}
		err = errors.Join(json.NewDecoder(resp.Body).Decode(&s), resp.Body.Close())
		if err == nil {
			return s, nil
		}
	}
	return s, err
}

// AwaitWhole waits until all members run, and a commit waits for a standby that
// etcd knows to be able to take over.
func (p *Patroni) AwaitWhole(within time.Duration) error {
	var s state
	var err error
	for deadline := time.Now().Add(pace.Guard(within)); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if s, err = p.ask(); err == nil && s.whole(len(p.Members)) {
			return nil
		}
	}
	return fmt.Errorf("the servers under Patroni did not all run within %s: %v %+v", within, err, s)
}

// Switchover makes another member the primary, as an operator would.
func (p *Patroni) Switchover() error {
	return run(p.dir, "patronictl", "-c", p.Members[0].settings(), "switchover", "--force")
}

// logs returns the ends of all logs.
func (p *Patroni) logs() string {
	names, err := filepath.Glob(filepath.Join(p.dir, "*", "log"))
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		const most = 8_000
		fmt.Fprintf(&all, "the end of the log of %s: %v\n%s\n", filepath.Base(filepath.Dir(name)), err, text[max(0, len(text)-most):])
	}
	return all.String()
}

func (p *Patroni) remove() {
	for _, m := range p.Members {
		m.Kill()
	}
	if p.etcd != nil {
		p.etcd.signal(syscall.SIGKILL)
		p.etcd.wait()
	}
	_ = p.guard.Close() // now the guard removes the files
}

// daemon is a program that runs until it is told to end. Its directory has a file
// with its process's number and a log.
type daemon struct {
	dir, name string
	main      *exec.Cmd
	ended     chan struct{} // closed when main has ended
}

// noted runs a program and writes its process's number to a file first.
const noted = `echo $$ >"$0/pid" && exec "$@"`

func (d *daemon) start(args ...string) error {
	cmd, err := command(d.dir, d.name, args...)
	if err != nil {
		return err
	}
	cmd.Args = append([]string{"sh", "-c", noted, d.dir, cmd.Path}, args...)
	if cmd.Path, err = exec.LookPath("sh"); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	d.main, d.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // the log says why
		close(ended)
	}(d.ended)
	return nil
}

// await waits until ready, which is asked often, is true.
func (d *daemon) await(ready func() bool) error {
	deadline := time.NewTimer(startWithin())
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-d.ended:
			text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			return fmt.Errorf("%s ended while starting:\n%s", d.name, text)
		case <-deadline.C:
			return fmt.Errorf("%s did not respond within %s", d.name, startWithin())
		}
	}
	return nil
}

func (d *daemon) signal(sig syscall.Signal) {
	if d.main != nil {
		_ = d.main.Process.Signal(sig) // fails only when it has ended
	}
}

// wait waits until it has ended.
func (d *daemon) wait() {
	if d.main != nil {
		<-d.ended
	}
}
