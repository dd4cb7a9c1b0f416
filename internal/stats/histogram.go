package stats

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// A histogram's first bucket holds times below 0.1 ms. From there, four buckets
// double the time; the last one begins at about half an hour.
const (
	buckets   = 98
	smallest  = 100 * time.Microsecond
	perDouble = 4
)

// histogram counts times.
type histogram [buckets]uint32

// bounds are the upper bounds of the buckets; the last bucket has none.
var bounds = func() (b [buckets - 1]time.Duration) {
	for i := range b {
		b[i] = time.Duration(float64(smallest) * math.Pow(2, float64(i)/perDouble))
	}
	return b
}()

// bucket returns the bucket of a time.
func bucket(d time.Duration) int {
	if d < smallest {
		return 0
	}
	// The number of bits gives the doubling; at most perDouble steps remain.
	i := (bits.Len64(uint64(d/smallest))-1)*perDouble + 1
	for i < buckets-1 && d >= bounds[i] {
		i++
	}
	return min(i, buckets-1)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other {
		h[i] += n
	}
}

func (h *histogram) count() (n uint64) {
	for _, c := range h {
		n += uint64(c)
	}
	return n
}

// percentile returns the time in milliseconds below which a share of all times
// lies: the middle of its bucket. It returns NaN if nothing was counted.
func (h *histogram) percentile(share float64) float64 { return percentile(h[:], h.count(), share) }

// percentile is histogram.percentile for the counts of all buckets, n in total.
func percentile[N uint32 | uint64](counts []N, n uint64, share float64) float64 {
	if n == 0 {
		return math.NaN()
	}
	rank := uint64(math.Ceil(share * float64(n)))
	for i, c := range counts {
		if uint64(c) < rank {
			rank -= uint64(c)
			continue
		}
		return middle(i)
	}
	return middle(buckets - 1)
}

// middle returns a bucket's middle in milliseconds.
func middle(i int) float64 {
	const ms = float64(time.Millisecond)
	switch i {
	case 0:
		return float64(smallest) / 2 / ms
	case buckets - 1:
		return float64(bounds[buckets-2]) / ms
	}
	return math.Sqrt(float64(bounds[i-1])*float64(bounds[i])) / ms
}

// encode encodes the non-empty buckets as pairs of varints: the distance to the
// previous one, and the count.
func (h *histogram) encode() []byte { return appendCounts(nil, h[:]) }

// appendCounts is histogram.encode for the counts of all buckets.
func appendCounts[N uint32 | uint64](b []byte, counts []N) []byte {
	last := -1
	for i, n := range counts {
		if n > 0 {
			b = binary.AppendUvarint(b, uint64(i-last))
			b = binary.AppendUvarint(b, uint64(n))
			last = i
		}
	}
	return b
}

// addEncoded adds the counts of an encoded histogram.
func (h *histogram) addEncoded(b []byte) { addEncoded((*[buckets]uint32)(h), b) }

// addEncoded adds the counts of an encoded histogram to those of all buckets. It
// stops at the first invalid byte.
func addEncoded[N uint32 | uint64](counts *[buckets]N, b []byte) {
	for i := -1; len(b) > 0; {
		step, n := binary.Uvarint(b)
		if n <= 0 || step == 0 || step > buckets {
			return
		}
		b = b[n:]
		count, n := binary.Uvarint(b)
		if i += int(step); n <= 0 || i >= buckets {
			return
		}
		b = b[n:]
		counts[i] += N(count)
	}
}
