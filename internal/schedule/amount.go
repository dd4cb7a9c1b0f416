package schedule

import (
	"errors"
	"math"
	"math/big"
	"strings"
)

const microsPerSecond = 1_000_000

var errAmountRange = errors.New("is too large")

// UnitSeconds returns the length in seconds of a unit: second, minute, hour, day
// or week, singular or plural, in any case. It returns false for other words.
func UnitSeconds(word string) (int64, bool) {
	switch strings.TrimSuffix(strings.ToLower(word), "s") {
	case "second":
		return 1, true
	case "minute":
		return 60, true
	case "hour":
		return 60 * 60, true
	case "day":
		return secondsPerDay, true
	case "week":
		return 7 * secondsPerDay, true
	}
	return 0, false
}

// ParseAmount reads a JSON number literal as that many units of unitSeconds
// seconds (at least 1) and returns its exact length in microseconds. Finer digits
// are cut, downward, so that a negative amount stays negative however small. It
// returns an error if literal is not a number, is longer than 1,000 bytes, or
// means more microseconds than fit in an int64.
func ParseAmount(literal string, unitSeconds int64) (micros int64, err error) {
	if n, ok := shortWhole(literal); ok && unitSeconds <= maxShort {
		factor := max(unitSeconds, 1) * microsPerSecond
		if n > math.MaxInt64/factor {
			return 0, errAmountRange
		}
		return n * factor, nil
	}
	amount, err := parseDecimal(literal)
	if err != nil {
		return 0, err
	}
	factor := big.NewInt(max(unitSeconds, 1))
	factor.Mul(factor, big.NewInt(microsPerSecond))
	micros, ok := amount.times(factor)
	if !ok {
		return 0, errAmountRange
	}
	return micros, nil
}

// maxShort bounds the units of whole numbers that are read without arbitrary precision.
const maxShort = 1 << 30

// shortWhole reads a whole number of up to nine digits, as nearly all amounts are.
func shortWhole(literal string) (n int64, ok bool) {
	if literal == "" || len(literal) > 9 || literal[0] == '0' && len(literal) > 1 {
		return 0, false
	}
	for i := range len(literal) {
		if literal[i] < '0' || literal[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(literal[i]-'0')
	}
	return n, true
}
