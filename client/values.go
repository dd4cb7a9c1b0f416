package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration of the API. It is written as a number of seconds and read
// from that or from an amount and a unit, such as [5, "minutes"].
type Duration time.Duration

// Day and Week are units that package time lacks. Days have 24 hours.
const (
	Day  = Duration(24 * time.Hour)
	Week = 7 * Day
)

// Every returns a time.Duration as a Duration.
func Every(d time.Duration) Duration { return Duration(d) }

// In returns a time.Duration as a Duration.
func In(d time.Duration) Duration { return Duration(d) }

// String writes the duration as package time does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes seconds, with as many decimals as needed.
func (d Duration) MarshalJSON() ([]byte, error) {
	whole, fraction := int64(d)/1e9, int64(d)%1e9
	if d < 0 || fraction == 0 {
		return strconv.AppendFloat(nil, time.Duration(d).Seconds(), 'f', -1, 64), nil
	}
	return []byte(strings.TrimRight(fmt.Sprintf("%d.%09d", whole, fraction), "0")), nil
}

// units are the units of durations.
var units = map[string]Duration{
	"second": Duration(time.Second), "minute": Duration(time.Minute), "hour": Duration(time.Hour), "day": Day, "week": Week,
}

// UnmarshalJSON reads seconds, or an amount and a unit.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var seconds float64
	if json.Unmarshal(text, &seconds) == nil {
		return d.set(seconds, Duration(time.Second))
	}
	var name string
	pair := []any{&seconds, &name}
	if err := json.Unmarshal(text, &pair); err != nil || len(pair) != 2 {
		return fmt.Errorf("%s is no duration: it must be seconds or [amount, unit]", text)
	}
	unit, known := units[strings.TrimSuffix(strings.ToLower(name), "s")]
	if !known {
		return fmt.Errorf("%q is no unit of durations", name)
	}
	return d.set(seconds, unit)
}

func (d *Duration) set(amount float64, unit Duration) error {
	ns := amount * float64(unit)
	if !(ns > -1<<63 && ns < 1<<63) { // also refuses what is no number
		return fmt.Errorf("%v times %s does not fit into a Duration", amount, unit)
	}
	*d = Duration(ns)
	return nil
}

// Time is a time of a record: UTC, also where the API writes no zone.
type Time struct{ time.Time }

// UnmarshalJSON reads RFC 3339 with or without a zone.
func (t *Time) UnmarshalJSON(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05", value)
	}
	if err != nil {
		return fmt.Errorf("%q is no time of the API", value)
	}
	t.Time = at.UTC()
	return nil
}

// Edit lists the fields of a job or schedule to change, by name. A field that is
// absent stays, nil removes it.
type Edit map[string]any
