package differ

import (
	"context"
	"time"
)

// shrink leaves out calls of a sequence for as long as it still ends differently. It
// returns the shortest sequence that was found until a deadline.
func (ss sides) shrink(ctx context.Context, sequence []call, found *difference, deadline time.Time) ([]call, *difference, error) {
	for i := range sequence { // nothing after the difference matters
		if sequence[i].number == found.call.number {
			sequence = sequence[:i+1]
			break
		}
	}
	for size := max(1, len(sequence)/2); ; size = max(1, size/2) {
		left := len(sequence)
		for end := len(sequence) - 1; end > 0; end -= size {
			from := max(0, end-size)
			shorter := append(append([]call{}, sequence[:from]...), sequence[end:]...)
			if time.Now().After(deadline) {
				return sequence, found, nil
			}
			again, err := ss.run(ctx, shorter)
			if err != nil {
				return sequence, found, err
			}
			if again != nil {
				sequence, found = shorter, again
			}
		}
		if size == 1 && len(sequence) == left {
			return sequence, found, nil
		}
	}
}
