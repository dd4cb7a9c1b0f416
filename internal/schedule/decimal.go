package schedule

import (
	"errors"
	"math/big"
	"strings"
)

var (
	errNotNumber  = errors.New("must be a number")
	errLongNumber = errors.New("must be a number of at most 1000 characters")
)

const (
	// maxLiteral limits the work that a number can cause, in bytes.
	maxLiteral = 1000

	// maxExponent is larger than maxLiteral digits can compensate. Larger
	// exponents have the same effect.
	maxExponent = 10 * maxLiteral
)

// decimal is the exact value of a JSON number: digits * 10^exponent, negated if
// negative.
type decimal struct {
	digits   string // without leading zeros; "" is zero
	exponent int
	negative bool
}

// parseDecimal reads a JSON number literal (RFC 8259, section 6).
func parseDecimal(literal string) (decimal, error) {
	if len(literal) > maxLiteral {
		return decimal{}, errLongNumber
	}
	var d decimal
	rest, negative := strings.CutPrefix(literal, "-")
	d.negative = negative

	whole, rest := cutDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return decimal{}, errNotNumber
	}
	var fraction string
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if fraction, rest = cutDigits(after); fraction == "" {
			return decimal{}, errNotNumber
		}
	}
	exponent, ok := parseExponent(rest)
	if !ok {
		return decimal{}, errNotNumber
	}
	d.digits = strings.TrimLeft(whole+fraction, "0")
	d.exponent = exponent - len(fraction)
	return d, nil
}

// parseExponent reads the exponent of a number, which may be missing. It is at
// most maxExponent in either direction.
func parseExponent(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s, negative := strings.CutPrefix(s[1:], "-")
	if !negative {
		s = strings.TrimPrefix(s, "+")
	}
	digits, rest := cutDigits(s)
	if digits == "" || rest != "" {
		return 0, false
	}
	n := 0
	for _, b := range []byte(digits) {
		n = min(n*10+int(b-'0'), maxExponent)
	}
	if negative {
		n = -n
	}
	return n, true
}

// cutDigits splits s after its leading digits.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// magnitude returns the n for which 10^(n-1) <= |d| < 10^n. d is not zero.
func (d decimal) magnitude() int { return len(d.digits) + d.exponent }

// times returns d * factor rounded down, and false if that is no int64. factor
// is at least 1.
func (d decimal) times(factor *big.Int) (int64, bool) {
	const int64Digits = 19
	switch n := d.magnitude(); {
	case d.digits == "":
		return 0, true
	case n > int64Digits:
		return 0, false
	case n < -len(factor.String()):
		// Only the sign is left.
		if d.negative {
			return -1, true
		}
		return 0, true
	}
	value, _ := new(big.Int).SetString(d.digits, 10)
	value.Mul(value, factor)
	if d.negative {
		value.Neg(value)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.exponent, -d.exponent))), nil)
	if d.exponent >= 0 {
		value.Mul(value, scale)
	} else {
		value.Div(value, scale) // Euclidean, and so down: scale is positive
	}
	return value.Int64(), value.IsInt64()
}
