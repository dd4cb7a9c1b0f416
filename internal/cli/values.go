package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/quota"
)

// databaseFlag is the flag that every command which needs the database takes.
type databaseFlag struct {
	DatabaseURL string `name:"database-url" setting:"" default:"sqlite:punctual.db" placeholder:"URL" help:"The database: sqlite:PATH, or postgres://USER:PASSWORD@HOST/DATABASE for any number of nodes."`
}

// popText takes the value of a flag as it was written.
func popText(ctx *kong.DecodeContext) (text string, err error) {
	err = ctx.Scan.PopValueInto("flag", &text)
	return text, err
}

// switchMapper reads switches as Go reads booleans.
type switchMapper struct{}

// Decode implements kong.Mapper.
func (switchMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	text := fmt.Sprint(ctx.Scan.Pop().Value)
	value, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("must be true or false, not %q", text)
	}
	target.SetBool(value)
	return nil
}

// IsBool implements kong.BoolMapper: a switch needs no value.
func (switchMapper) IsBool() bool { return true }

// slots is a number of requests under way at once.
type slots int

const maxSlots = 100_000

// Decode implements kong.MapperValue.
func (s *slots) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSlots {
		return fmt.Errorf("must be a whole number from 1 to %d, not %q", maxSlots, text)
	}
	*s = slots(n)
	return nil
}

// rate is a number of calls a second; 0 is any number.
type rate float64

// Decode implements kong.MapperValue.
func (r *rate) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	n, ok := quota.ParseRate(text)
	if !ok {
		return fmt.Errorf("must be %s, not %q", wantedRate, text)
	}
	*r = rate(n)
	return nil
}

// signup says who may sign up; "" is the first only.
type signup string

// Decode implements kong.MapperValue.
func (s *signup) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	switch auth.Signup(text) {
	case auth.SignupOpen, auth.SignupInvite, auth.SignupClosed:
		*s = signup(text)
		return nil
	}
	return fmt.Errorf("must be open, invite or closed, not %q", text)
}

// scope is what a key permits.
type scope identity.Scope

// Decode implements kong.MapperValue.
func (s *scope) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(auth.Scopes, identity.Scope(text)) {
		return fmt.Errorf("must be read, jobs or admin, not %q", text)
	}
	*s = scope(text)
	return nil
}

// logFormat is the form of what is logged; "" is text at a terminal and JSON
// elsewhere.
type logFormat string

// Decode implements kong.MapperValue.
func (f *logFormat) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if text != "text" && text != "json" {
		return fmt.Errorf("must be text or json, not %q", text)
	}
	*f = logFormat(text)
	return nil
}

// level is how grave something must be to be logged.
type level slog.Level

// Decode implements kong.MapperValue.
func (l *level) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	known := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	found, ok := known[strings.ToLower(text)]
	if !ok {
		return fmt.Errorf("must be debug, info, warn or error, not %q", text)
	}
	*l = level(found)
	return nil
}

// apiKey is a key that can stand in an Authorization header.
type apiKey string

const maxAPIKey = 255

// Decode implements kong.MapperValue.
func (k *apiKey) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if why := whyNotAPIKey(text); why != "" {
		return errors.New(why)
	}
	*k = apiKey(text)
	return nil
}

// whyNotAPIKey says why text can't be a key; "" if it can.
func whyNotAPIKey(text string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(text) > maxAPIKey || strings.ContainsFunc(text, odd) {
		return fmt.Sprintf("must be at most %d visible ASCII characters without spaces", maxAPIKey)
	}
	return ""
}

// label is a name that fits into a line.
type label string

const maxLabel = 255

// Decode implements kong.MapperValue.
func (l *label) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxLabel || strings.ContainsFunc(text, odd) {
		return fmt.Errorf("must be at most %d printable characters", maxLabel)
	}
	*l = label(text)
	return nil
}

// period is a duration in minutes, hours, days or weeks; 0 is forever.
type period time.Duration

// Decode implements kong.MapperValue.
func (p *period) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	value, err := parsePeriod(text)
	*p = period(value)
	return err
}

var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// maxPeriod keeps periods well within what a time can be moved by.
const maxPeriod = 100 * 365 * 24 * time.Hour

func parsePeriod(text string) (time.Duration, error) {
	wrong := fmt.Errorf("must be a period like 90m, 12h, 30d or 2w, or 0 (forever), not %q", text)
	if text == "0" {
		return 0, nil
	}
	if len(text) < 2 || strings.Trim(text[:len(text)-1], "0123456789") != "" {
		return 0, wrong
	}
	unit, known := units[text[len(text)-1]]
	if !known {
		return 0, wrong
	}
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if err != nil || n > int64(maxPeriod/unit) {
		return 0, wrong
	}
	return time.Duration(n) * unit, nil
}
