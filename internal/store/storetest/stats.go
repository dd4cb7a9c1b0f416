package storetest

import (
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

var statsTests = group{
	"ReadBack": statsReadBack,
	"Replaced": statsReplaced,
	"Pruned":   statsPruned,
}

func (w *world) stats(from, to int64) string {
	w.Helper()
	stats, err := w.s.StatsRead(w.ctx, w.owner.Number, from, to)
	w.ok("StatsRead", err)
	text := ""
	for _, c := range stats {
		text += fmt.Sprintf("%d by %d: %d, %d, %x, %x, %s; ", c.Minute, c.Source, c.Succeeded, c.Failed, c.Lateness, c.Duration, c.Worst)
	}
	return text
}

func statsReadBack(w *world) {
	of := w.owner.Number
	w.ok("StatsWrite of nothing", w.s.StatsWrite(w.ctx, nil))
	w.ok("StatsWrite", w.s.StatsWrite(w.ctx, []store.Stat{
		{Account: of, Minute: 3, Source: -7, Succeeded: 1, Failed: 2, Lateness: []byte{1, 0}, Duration: nil,
			Worst: 2*time.Hour + time.Microsecond},
		{Account: of, Minute: 2, Source: 9, Succeeded: 5},
		{Account: of, Minute: 3, Source: 9, Failed: 1 << 40, Duration: []byte{0xff}},
		{Account: of, Minute: 5, Source: 9},
		{Account: w.other.Number, Minute: 3, Source: 9, Succeeded: 8},
	}))
	w.same("the minutes 2 to 4", w.stats(2, 4), "2 by 9: 5, 0, , , 0s; 3 by -7: 1, 2, 0100, , 2h0m0.000001s; 3 by 9: 0, 1099511627776, , ff, 0s; ")
	w.same("the minutes 6 and 7", w.stats(6, 7), "")
}

func statsReplaced(w *world) {
	of := w.owner.Number
	for i := range int64(3) {
		w.ok("StatsWrite", w.s.StatsWrite(w.ctx, []store.Stat{{Account: of, Minute: 1, Source: 1, Succeeded: i, Failed: 2 * i,
			Lateness: []byte{byte(i)}, Worst: time.Duration(i) * time.Second}}))
	}
	w.same("the minute", w.stats(1, 1), "1 by 1: 2, 4, 02, , 2s; ")
}

func statsPruned(w *world) {
	var stats []store.Stat
	for i := range int64(20) {
		stats = append(stats, store.Stat{Account: []int64{w.owner.Number, w.other.Number}[i%2], Minute: i, Source: 1})
	}
	w.ok("StatsWrite", w.s.StatsWrite(w.ctx, stats))
	total := 0
	for {
		n, err := w.s.StatsPrune(w.ctx, 17, 4)
		w.ok("StatsPrune", err)
		if n > 4 {
			w.Fatalf("StatsPrune removed %d, more than 4", n)
		}
		if total += n; n == 0 {
			break
		}
	}
	if total != 17 {
		w.Errorf("%d counts removed, want 17", total)
	}
	w.same("what is left", w.stats(0, 20), "18 by 1: 0, 0, , , 0s; ")
}
