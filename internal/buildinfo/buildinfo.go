package buildinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
)

// The linker sets these when a release is built.
var (
	version string // as in v1.2.3
	commit  string // the full hash
	date    string // of the commit, RFC 3339 in UTC
)

// Info describes a build. Its JSON is what punctual version --json prints.
type Info struct {
	Version string `json:"version"` // "dev" if it is not known
	Commit  string `json:"commit"`  // "" if it is not known
	Date    string `json:"date"`    // of the commit, RFC 3339 in UTC; "" if it is not known
	Go      string `json:"go"`      // the toolchain, as in go1.26.8
	OS      string `json:"os"`      // as in linux
	Arch    string `json:"arch"`    // as in amd64
}

// unknown is the version of a build that has none.
const unknown = "dev"

// Read returns what is known about this build.
var Read = sync.OnceValue(func() Info {
	recorded, _ := debug.ReadBuildInfo()
	return read(recorded)
})

func read(recorded *debug.BuildInfo) Info {
	info := Info{Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if recorded != nil {
		if v := recorded.Main.Version; v != "(devel)" {
			info.Version = cmp.Or(info.Version, v)
		}
		for _, s := range recorded.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = cmp.Or(info.Commit, s.Value)
			case "vcs.time":
				info.Date = cmp.Or(info.Date, s.Value)
			}
		}
	}
	info.Version = cmp.Or(info.Version, unknown)
	return info
}
