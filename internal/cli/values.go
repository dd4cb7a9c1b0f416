package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// databaseFlag is the flag that every command which needs the database takes.
type databaseFlag struct {
	DatabaseURL string `name:"database-url" env:"PUNCTUAL_DATABASE_URL" default:"sqlite:punctual.db" placeholder:"URL" help:"Where everything is kept: sqlite:PATH."`
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

// period is a duration in minutes, hours, days or weeks; 0 is for ever.
type period time.Duration

// Decode implements kong.MapperValue.
func (p *period) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("period", &text); err != nil {
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
	wrong := fmt.Errorf("must be a period like 90m, 12h, 30d or 2w, or 0 for ever, not %q", text)
	if text == "0" {
		return 0, nil
	}
	if len(text) < 2 || strings.Trim(text[:len(text)-1], "0123456789") != "" {
		return 0, wrong
	}
	unit, known := units[text[len(text)-1]]
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if !known || err != nil || n > int64(maxPeriod/unit) {
		return 0, wrong
	}
	return time.Duration(n) * unit, nil
}
