package ui

import (
	"context"
	"time"

	"github.com/a-h/templ"
)

// Preferences are how a browser wants pages to look. The zero value is the default.
type Preferences struct {
	Theme   string         // "light", "dark", or "" for the system's setting
	Compact bool           // smaller rows in tables
	Zone    *time.Location // times are shown in it; nil for UTC
}

// Location returns the zone that times are shown in.
func (p *Preferences) Location() *time.Location {
	if p.Zone == nil {
		return time.UTC
	}
	return p.Zone
}

// Local reports whether times are shown in another zone than UTC.
func (p *Preferences) Local() bool { return p.Zone != nil }

// document returns the attributes of the root element, which the style and the
// scripts read.
func document(ctx context.Context) templ.Attributes {
	v := From(ctx)
	attributes := templ.Attributes{"data-now": FormatStamp(v.Now)}
	if v.Preferences.Theme != "" {
		attributes["data-theme"] = v.Preferences.Theme
	}
	if v.Preferences.Compact {
		attributes["data-density"] = "compact"
	}
	return attributes
}

// colorScheme returns the content of the meta element color-scheme.
func colorScheme(ctx context.Context) string {
	if theme := From(ctx).Preferences.Theme; theme != "" {
		return theme
	}
	return "light dark"
}

// exact formats an instant as ExactIn does, in the zone of the preferences.
func exact(ctx context.Context, t time.Time) string {
	return ExactIn(t, From(ctx).Preferences.Location())
}

// Undo is the form that reverts the previous action.
type Undo struct {
	Label  string // "Undo", or what it does if that is not quite the reverse
	Action string // its address
	Fields [][2]string
}
