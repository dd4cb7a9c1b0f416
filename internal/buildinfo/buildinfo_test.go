package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRead_PrefersWhatTheLinkerSet(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-22T09:00:00Z"}},
	}
	want := Info{"v1.2.3", "abc", "2026-11-22T09:00:00Z", runtime.Version(), runtime.GOOS, runtime.GOARCH}
	if got := read(recorded); got != want {
		t.Errorf("what Go records: %+v, want %+v", got, want)
	}
	version, commit, date = "v2.0.0", "def", "2026-12-01T00:00:00Z"
	defer func() { version, commit, date = "", "", "" }()
	want.Version, want.Commit, want.Date = "v2.0.0", "def", "2026-12-01T00:00:00Z"
	if got := read(recorded); got != want {
		t.Errorf("what the linker sets: %+v, want %+v", got, want)
	}
}

func TestRead_WithoutAVersionIsDev(t *testing.T) {
	for _, recorded := range []*debug.BuildInfo{nil, {Main: debug.Module{Version: "(devel)"}}, {}} {
		if got := read(recorded); got.Version != "dev" || got.Commit != "" || got.Date != "" {
			t.Errorf("%+v: %+v, want dev", recorded, got)
		}
	}
}
