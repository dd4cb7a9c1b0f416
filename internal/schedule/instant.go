package schedule

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

var (
	errInstantShape = errors.New("must be a date and time such as 2026-03-01T09:30:00Z, or unix seconds as a number")
	errInstantRange = errors.New("must lie within the years 0 to 9999")
)

// maxInstant is the maximum length of an instant, in bytes.
const maxInstant = 100

// ParseInstant reads a date and time as in RFC 3339, also with a space for T, in
// lower case, without seconds, with offsets +02 and +0200, without zone (UTC),
// or a date alone (its midnight in UTC). Digits finer than a microsecond are
// cut. Other shapes of ISO 8601, second 60 and hour 24 are errors; their text
// completes "scheduled_at …".
func ParseInstant(s string) (time.Time, error) {
	at, _, err := ParseInstantIn(s, time.UTC)
	return at, err
}

// ParseInstantIn is [ParseInstant], except that a time without an offset is one of zone.
// zoned reports whether it has one.
func ParseInstantIn(s string, zone *time.Location) (at time.Time, zoned bool, err error) {
	if len(s) > maxInstant {
		return at, false, errInstantShape
	}
	p := &instantParser{rest: s}
	year, month, day := p.date()
	var hour, minute, second, nanosecond, offset int
	if p.rest != "" {
		p.oneOf("Tt ")
		hour, minute, second, nanosecond = p.clock()
		zoned = p.rest != ""
		offset = p.offset()
	}
	if p.rest != "" {
		p.fail(errInstantShape)
	}
	if p.err != nil {
		return at, false, p.err
	}
	if zoned {
		zone = time.UTC
	}
	at = time.Date(year, time.Month(month), day, hour, minute, second, nanosecond, zone)
	at, err = inRange(at.Add(-time.Duration(offset) * time.Second))
	return at, zoned, err
}

// ParseUnix reads a JSON number literal as unix time: seconds, or milliseconds
// from an absolute value of 1e11 on. Fractions are exact; what is finer than a
// microsecond is cut, toward the past. The text of an error completes
// "scheduled_at …".
func ParseUnix(literal string) (time.Time, error) {
	value, err := parseDecimal(literal)
	if err != nil {
		return time.Time{}, err
	}
	micros := int64(microsPerSecond)
	if value.digits != "" && value.magnitude() > 11 {
		micros /= 1000
	}
	n, ok := value.times(big.NewInt(micros))
	if !ok {
		return time.Time{}, errInstantRange
	}
	return inRange(time.UnixMicro(n))
}

// inRange refuses times that RFC 3339 can't write.
func inRange(t time.Time) (time.Time, error) {
	t = cut(t)
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, errInstantRange
	}
	return t, nil
}

// instantParser reads from the front of rest. It keeps the first error and reads
// nothing after it.
type instantParser struct {
	rest string
	err  error
}

func (p *instantParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// date reads YYYY-MM-DD.
func (p *instantParser) date() (year, month, day int) {
	year = p.digits(4)
	p.oneOf("-")
	month = p.digits(2)
	p.oneOf("-")
	day = p.digits(2)

	p.check("month", month, 1, 12)
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	p.check(fmt.Sprintf("day of %04d-%02d", year, month), day, 1, last)
	return year, month, day
}

// clock reads hh:mm, hh:mm:ss or hh:mm:ss.fraction.
func (p *instantParser) clock() (hour, minute, second, nanosecond int) {
	hour = p.digits(2)
	p.oneOf(":")
	minute = p.digits(2)
	if p.next(":") {
		p.oneOf(":")
		second = p.digits(2)
		if p.next(".") {
			p.oneOf(".")
			nanosecond = p.fraction()
		}
	}
	p.check("hour", hour, 0, 23)
	p.check("minute", minute, 0, 59)
	p.check("second", second, 0, 59)
	return hour, minute, second, nanosecond
}

// offset reads Z, +hh, +hhmm, +hh:mm or nothing, in seconds east of UTC.
func (p *instantParser) offset() int {
	if p.rest == "" {
		return 0
	}
	sign := p.oneOf("Zz+-")
	if sign != '+' && sign != '-' {
		return 0
	}
	hour, minute := p.digits(2), 0
	if p.rest != "" {
		if p.next(":") {
			p.oneOf(":")
		}
		minute = p.digits(2)
	}
	p.check("hour of the offset", hour, 0, 23)
	p.check("minute of the offset", minute, 0, 59)
	seconds := (hour*60 + minute) * 60
	if sign == '-' {
		return -seconds
	}
	return seconds
}

// fraction reads the digits of a fraction of a second, in nanoseconds.
func (p *instantParser) fraction() int {
	digits, rest := cutDigits(p.rest)
	if digits == "" {
		p.fail(errInstantShape)
		return 0
	}
	p.rest = rest
	n := 0
	for i := range 9 {
		n *= 10
		if i < len(digits) {
			n += int(digits[i] - '0')
		}
	}
	return n
}

// digits reads a number of exactly n digits.
func (p *instantParser) digits(n int) int {
	value := 0
	for range n {
		value = value*10 + int(p.oneOf("0123456789")) - '0'
	}
	return value
}

// next reports whether rest begins with a byte of set.
func (p *instantParser) next(set string) bool {
	return p.err == nil && p.rest != "" && strings.IndexByte(set, p.rest[0]) >= 0
}

// oneOf reads one byte of set, or fails and returns the first of set.
func (p *instantParser) oneOf(set string) byte {
	if !p.next(set) {
		p.fail(errInstantShape)
		return set[0]
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

// check fails if a part of the time has a value that does not exist.
func (p *instantParser) check(part string, value, low, high int) {
	if value < low || value > high {
		p.fail(fmt.Errorf("has %d as its %s; give %02d to %02d", value, part, low, high))
	}
}
