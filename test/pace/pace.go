package pace

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Variable is the environment variable that has the factor.
const Variable = "PUNCTUAL_TEST_PACE"

// steps are the factors that there are. They are coarse, so that two runs on one machine
// have the same: go test runs tests again whose environment differs.
var steps = []float64{1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// Factor returns what limits are multiplied by on this machine.
func Factor() float64 { return factor() }

var factor = sync.OnceValue(func() float64 {
	if given, ok := parse(os.Getenv(Variable)); ok {
		return given
	}
	return step(measure(rounds))
})

// Present returns how much longer work takes now than on a usual machine with nothing else
// to do, 1 at the least. It takes a tenth of a second on one.
func Present() float64 { return max(1, measure(presentRounds)) }

// parse reads a factor; one outside the range of steps is not taken.
func parse(text string) (float64, bool) {
	given, err := strconv.ParseFloat(text, 64)
	return given, err == nil && given >= 1 && given <= slices.Max(steps)
}

// step returns the least step that is not below a factor.
func step(of float64) float64 {
	i, _ := slices.BinarySearch(steps, of)
	return steps[min(i, len(steps)-1)]
}

// Limit returns a limit for this machine, where d is enough on a usual one.
func Limit(d time.Duration) time.Duration { return time.Duration(float64(d) * Factor()) }

// Guard returns the limit of a wait that only a broken program exceeds: three minutes, or
// usual if that is more, on a usual machine. It is less than the five minutes after which
// a silent package is ended, so that the test says what it waited for.
func Guard(usual time.Duration) time.Duration { return Limit(max(usual, 3*time.Minute)) }

// The fixed piece of work: how many values each of the threads sorts, and how long that
// may take so that the machine is not slow. Two cores of 2020 take a third of it.
const (
	threads = 2
	values  = 150_000
	usual   = 60 * time.Millisecond
	rounds  = 9
	// presentRounds is how many rounds tell how busy a machine is now.
	presentRounds = 3
)

// measure returns how much longer the work takes than on a usual machine: the median of
// n rounds.
func measure(n int) float64 {
	var took []time.Duration
	for range n {
		began := time.Now()
		var group sync.WaitGroup
		for thread := range threads {
			group.Go(func() { work(uint64(thread)) })
		}
		group.Wait()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return float64(took[n/2]) / float64(usual)
}

// work allocates, sorts and looks up, as the tests and the service do.
func work(state uint64) int {
	list := make([]uint64, values)
	for i := range list {
		state = state*6364136223846793005 + 1442695040888963407
		list[i] = state >> 33
	}
	slices.SortFunc(list, cmp.Compare)
	index := make(map[uint64]int, 1000)
	for i := 0; i < values; i += values / 1000 {
		index[list[i]] = i
	}
	return len(index)
}
