package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestLoadZone(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/London", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "America/Port-au-Prince",
		"EST5EDT", "GB"} {
		z, err := LoadZone(name)
		if err != nil || z.String() != name {
			t.Errorf("LoadZone(%q) = %v, %v", name, z, err)
		}
		if again, _ := LoadZone(name); again != z {
			t.Errorf("LoadZone(%q) loads anew", name)
		}
	}
	for _, name := range []string{
		"", "Local", "local", "localtime", "posixrules", "right/UTC", "posix/UTC", "Europe", "Europe/", "/Europe/London",
		"../zoneinfo/UTC", "Europe/../UTC", "Europe/./London", `Europe\London`, "Nowhere/Atlantis", "+02:00", "UTC+2", "CEST",
		"Europe/London ", "Europe/London\x00", "zone.tab", "tzdata.zi", "Zürich", strings.Repeat("A", 100), "/etc/passwd",
	} {
		if z, err := LoadZone(name); err == nil {
			t.Errorf("LoadZone(%q) = %v", name, z)
		}
	}
}

// Readings and instants lead to each other through any change of the clock.
func TestReadings(t *testing.T) {
	for _, name := range fixtureZones {
		location := zone(t, name)
		for _, turn := range transitions(location) {
			for _, near := range []time.Duration{-26 * time.Hour, -time.Hour, -time.Second, 0, time.Second, time.Hour, 26 * time.Hour} {
				instant := turn.Add(near).Unix()
				reading := firstUnshown(location, instant)
				if got := firstShowing(location, reading); got <= instant {
					t.Fatalf("%s: %d is not shown by %v, but first at %v", name, reading, time.Unix(instant, 0).UTC(),
						time.Unix(got, 0).UTC())
				}
				if got := firstShowing(location, reading-1); got > instant {
					t.Fatalf("%s: %d is shown or passed by %v, but first at %v", name, reading-1, time.Unix(instant, 0).UTC(),
						time.Unix(got, 0).UTC())
				}
			}
		}
	}
}
