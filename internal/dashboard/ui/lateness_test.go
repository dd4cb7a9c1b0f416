package ui

import (
	"testing"
	"time"
)

func TestLateness_ScaleIsTheSameEverywhere(t *testing.T) {
	for late, want := range map[time.Duration]string{
		0: "0%", 100 * time.Microsecond: "8.33%", time.Millisecond: "25%", 10 * time.Millisecond: "41.67%",
		100 * time.Millisecond: "58.33%", time.Second: "75%", 10 * time.Second: "91.67%", time.Hour: "100%",
	} {
		if got := Percentage(latePlace(late)); got != want {
			t.Errorf("%s is at %s, want %s", late, got, want)
		}
	}
	for i, label := range []string{"1 ms", "10 ms", "100 ms", "1 s", "10 s"} {
		if line := lateLines()[i]; line.label != label {
			t.Errorf("line %d is labelled %s, want %s", i, line.label, label)
		}
	}
}

func TestLateness_DotsAndWords(t *testing.T) {
	l := &Lateness{Of: [2]string{"run", "runs"}, Dots: []LateDot{
		{Late: 12 * time.Second, Text: "Job 1"}, {Late: 2 * time.Millisecond, Text: "Job 2"}, {Late: 2 * time.Second},
		{Late: 2 * time.Millisecond, Text: "Job 4"},
	}}
	places := l.places()
	if len(places) != 4 || places[0].class != "bad old" || places[0].text != "Job 1: 12.00 s late" || places[2].class != "warn" {
		t.Errorf("the dots are %+v", places)
	}
	// The latest is in the middle and drawn last; an equal one stands beside it.
	last, equal := places[3], places[1]
	if last.class != "fine latest" || last.y != coordinate(lateMiddle) || equal.x != last.x || equal.y == last.y {
		t.Errorf("the latest is %+v, an equal one %+v", last, equal)
	}
	if got, want := l.summary(), "Lateness of 4 runs: latest 2.0 ms late · median 2.0 ms · worst 12.00 s."; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	if got := (&Lateness{Of: [2]string{"run", "runs"}}).words(); got != "none started yet" {
		t.Errorf("without dots: %q", got)
	}
}
