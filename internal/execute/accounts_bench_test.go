//go:build unix

package execute

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkAccounts measures what it costs that accounts share no connections: each
// operation is a request of each of 1,000 accounts to one host, over connections that
// are kept, opened with the ticket of an earlier one, or opened for the first time. CPU
// and memory are those of client and target together.
func BenchmarkAccounts(b *testing.B) {
	const accounts = 1000
	for name, prepare := range map[string]func(c *Client){
		"kept":    func(*Client) {},
		"resumed": func(c *Client) { c.conns.closeIdle(0) },
		"opened":  func(c *Client) { c.conns.closeIdle(0); c.sessions = newSessionCache() },
	} {
		b.Run(name, func(b *testing.B) {
			url, _ := scripted(b, func(r turn) bool { r.say(okay); return true })
			c := New(Config{Version: "1", Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: accounts})
			b.Cleanup(c.Close)
			all := func() {
				var done sync.WaitGroup
				slots := make(chan struct{}, 32)
				for account := range int64(accounts) {
					slots <- struct{}{}
					done.Go(func() {
						defer func() { <-slots }()
						answered(b, c, Party{Account: account}.of(get(url)))
					})
				}
				done.Wait()
			}
			empty := memory()
			all()
			each := (memory() - empty) / accounts
			var cpu time.Duration
			for b.Loop() {
				prepare(c)
				before := processor()
				all()
				cpu += processor() - before
			}
			b.ReportMetric(float64(each), "bytes/account")
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N)/accounts, "µs-CPU/request")
		})
	}
}

// memory returns the bytes in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// processor returns the CPU time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
