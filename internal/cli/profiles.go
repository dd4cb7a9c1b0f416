package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// session is a service and the key to call it with.
type session struct{ url, key string }

// profiles is the content of the file that punctual login writes.
type profiles struct {
	Current  string             `json:"current"`
	Profiles map[string]profile `json:"profiles"`
}

// profile is a service and a key for it.
type profile struct {
	URL string `json:"url"`
	Key string `json:"api_key"`
}

const (
	defaultURL     = "http://127.0.0.1:8080"
	defaultProfile = "default"
	// maxProfiles bounds the file, in bytes.
	maxProfiles = 1 << 20
)

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// session returns the service and the key of a command. Flags win over an explicit
// --profile, that over the environment, and that over the profile in use. The key
// of a profile is only sent to the profile's service.
func (c *serviceFlags) session(env *environment) (*session, error) {
	fromEnvironment := func(flag string) bool { _, ok := env.variables[flag]; return ok }
	named := c.Profile != "" && !fromEnvironment("profile")
	s := &session{url: c.URL, key: string(c.Key)}
	if named && fromEnvironment("url") {
		s.url = ""
	}
	if named && fromEnvironment("api-key") {
		s.key = ""
	}
	if named || s.url == "" || s.key == "" {
		p, err := c.stored()
		if err != nil {
			return nil, err
		}
		if s.url == "" {
			s.url = p.URL
		}
		if s.key == "" && sameService(s.url, p.URL) {
			s.key = p.Key
		}
	}
	s.url = cmp.Or(s.url, defaultURL)
	if err := checkURL(s.url); err != nil {
		return nil, err
	}
	if s.key == "" {
		return nil, failed(statusRefused, "a key is needed: punctual login stores one, PUNCTUAL_API_KEY or --api-key gives one; punctual keys create EMAIL makes one")
	}
	return s, nil
}

// stored returns the profile of the command: the named one, else the one in use,
// else an empty one.
func (c *serviceFlags) stored() (profile, error) {
	all, err := readProfiles()
	if err != nil {
		return profile{}, err
	}
	name := cmp.Or(c.Profile, all.Current)
	p, ok := all.Profiles[name]
	if !ok && c.Profile != "" {
		return profile{}, failed(statusUsage, "there is no profile %s; punctual login --profile %s stores it, punctual profiles list shows all", c.Profile, c.Profile)
	}
	return p, nil
}

func checkURL(text string) error {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil || base.RawQuery != "" ||
		base.Fragment != "" {
		return failed(statusUsage, "--url must be an address like https://punctual.example.com, not %q", text)
	}
	return nil
}

// sameService reports whether two URLs are of the same service.
func sameService(a, b string) bool {
	trim := func(text string) string { return strings.ToLower(strings.TrimSuffix(text, "/")) }
	return b != "" && trim(a) == trim(b)
}

// profilesPath returns the path of the file with the profiles.
func profilesPath() (string, error) {
	if path := os.Getenv("PUNCTUAL_PROFILES_FILE"); path != "" {
		return path, nil
	}
	directory, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no directory for the profiles; set PUNCTUAL_PROFILES_FILE to a path: %w", err)
	}
	return filepath.Join(directory, "punctual", "profiles.json"), nil
}

// readProfiles reads the file with the profiles; without one there are none. It
// refuses a file that others can read.
func readProfiles() (*profiles, error) {
	all := &profiles{Profiles: map[string]profile{}}
	path, err := profilesPath()
	if err != nil {
		return all, nil //nolint:nilerr // without a home directory there are no profiles
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the profiles can't be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the profiles can't be read: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users can read the keys in %s; run: chmod 600 %s", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxProfiles))
	if err != nil {
		return nil, fmt.Errorf("the profiles can't be read: %w", err)
	}
	if err := json.Unmarshal(text, all); err != nil {
		return nil, fmt.Errorf("%s is no file of profiles; correct it, or remove it and run punctual login again: %w", path, err)
	}
	if all.Profiles == nil {
		all.Profiles = map[string]profile{}
	}
	return all, nil
}

// changeProfiles changes the file with the profiles as a whole: a reader sees the
// old one or the new one, and of two writers none is lost.
func changeProfiles(change func(*profiles) error) (err error) {
	path, err := profilesPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("the profiles can't be stored: %w", err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("the profiles can't be stored: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, err := readProfiles()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(path, append(text, '\n')); err != nil {
		return fmt.Errorf("the profiles can't be stored: %w", err)
	}
	return nil
}

// replaceFile writes a file that only its owner can read, in place of an old one.
func replaceFile(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".profiles-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

type profilesCommand struct {
	List profilesList `cmd:"" help:"List the profiles, without their keys."`
	Use  profilesUse  `cmd:"" help:"Use a profile from now on."`
}

type profilesList struct{ displayFlags }

type profileView struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Current bool   `json:"current"`
}

// Run lists the profiles.
func (c *profilesList) Run(env *environment) error {
	all, err := readProfiles()
	if err != nil {
		return err
	}
	views := []profileView{}
	for _, name := range slices.Sorted(maps.Keys(all.Profiles)) {
		views = append(views, profileView{name, all.Profiles[name].URL, name == all.Current})
	}
	switch {
	case c.JSON:
		return printJSON(env.out, views)
	case c.Quiet:
		return printIDs(env, views, func(v *profileView) string { return v.Name })
	case len(views) == 0:
		_, err := fmt.Fprintln(env.out, "there are no profiles; punctual login stores one")
		return err
	}
	t := table{columns: []column{{title: "NAME"}, {title: "URL", shrink: true}, {title: "IN USE"}}}
	for _, v := range views {
		t.add(v.Name, v.URL, yesOrNothing(v.Current))
	}
	return t.print(env.out, c.terminal(env))
}

func yesOrNothing(on bool) string {
	if on {
		return "yes"
	}
	return ""
}

type profilesUse struct {
	Name string `arg:"" help:"The profile's name."`
}

// Run makes a profile the one in use.
func (c *profilesUse) Run(env *environment) error {
	err := changeProfiles(func(all *profiles) error {
		if _, ok := all.Profiles[c.Name]; !ok {
			return failed(statusNotFound, "there is no profile %s; punctual profiles list shows all", c.Name)
		}
		all.Current = c.Name
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.out, "profile %s is in use\n", c.Name)
	return err
}
