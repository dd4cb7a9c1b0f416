package disk

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sector is how many bytes a disk writes whole or not at all.
const sector = 512

// image is what a disk holds of a directory: what is certain, and what was changed
// since it was last synced.
type image struct {
	dir     string
	names   map[string]*file // as the running system sees them, by base name
	durable map[string]*file // as they were when the directory was last synced
	renames []change         // of the directory since then, oldest first
	syncs   int
	// syncing has how much a sync that is under way covers.
	syncing map[*call]int
}

// file is the contents of a file.
type file struct {
	synced  []byte
	pending []op // since it was last synced, oldest first
}

// op is a write or, without data, a truncation.
type op struct {
	data []byte
	at   int64 // or the new size
}

// change is what happened to a name in the directory; nil is its removal.
type change struct {
	name string
	to   *file
}

func newImage(dir string) *image {
	return &image{dir: dir, names: map[string]*file{}, durable: map[string]*file{}, syncing: map[*call]int{}}
}

// local returns the base name of a file of the directory that a power cut leaves; the
// shared index of the write-ahead log is only memory.
func (m *image) local(path string) (string, bool) {
	if filepath.Dir(path) != m.dir || strings.HasSuffix(path, "-shm") {
		return "", false
	}
	return filepath.Base(path), true
}

// apply applies the beginning or the end of a call. A sync covers what had ended when
// it began.
func (m *image) apply(e event) error {
	c := e.call
	if c.ret < 0 {
		return nil
	}
	if c.name == "fsync" || c.name == "fdatasync" {
		m.sync(e)
		return nil
	}
	name, ours := m.local(c.path)
	if !e.end || !ours {
		return nil
	}
	switch c.name {
	case "open", "openat", "creat":
		if m.names[name] == nil && (strings.Contains(c.flags, "O_CREAT") || c.name == "creat") {
			m.rename(name, &file{})
		} else if f := m.names[name]; f != nil && strings.Contains(c.flags, "O_TRUNC") {
			f.pending = append(f.pending, op{})
		}
	case "unlink", "unlinkat":
		m.rename(name, nil)
	case "pwrite64":
		f := m.names[name]
		if f == nil || len(c.ints) == 0 || int64(len(c.data)) < c.ret {
			return fmt.Errorf("a write to %s that can't be followed: %v", name, c.ints)
		}
		f.pending = append(f.pending, op{data: c.data[:c.ret], at: c.ints[len(c.ints)-1]})
	case "ftruncate":
		f := m.names[name]
		if f == nil || len(c.ints) == 0 {
			return fmt.Errorf("a truncation of %s that can't be followed", name)
		}
		f.pending = append(f.pending, op{at: c.ints[len(c.ints)-1]})
	case "close":
	default:
		return fmt.Errorf("%s of %s is not expected", c.name, name)
	}
	return nil
}

func (m *image) rename(name string, to *file) {
	m.renames = append(m.renames, change{name, to})
	if to == nil {
		delete(m.names, name)
	} else {
		m.names[name] = to
	}
}

// sync makes durable, at its end, what had been changed at its beginning.
func (m *image) sync(e event) {
	c := e.call
	name, ours := m.local(c.path)
	f := m.names[name]
	directory := c.path == m.dir
	if !directory && (!ours || f == nil) {
		return
	}
	if !e.end {
		if directory {
			m.syncing[c] = len(m.renames)
		} else {
			m.syncing[c] = len(f.pending)
		}
		return
	}
	n := m.syncing[c]
	delete(m.syncing, c)
	if directory {
		for _, r := range m.renames[:n] {
			m.durable = entered(m.durable, r)
		}
		m.renames = m.renames[n:]
	} else {
		for _, o := range f.pending[:n] {
			f.synced = o.apply(f.synced)
		}
		f.pending = f.pending[n:]
	}
	for other := range m.syncing {
		if other.path == c.path {
			m.syncing[other] = max(0, m.syncing[other]-n)
		}
	}
	m.syncs++
}

func entered(names map[string]*file, r change) map[string]*file {
	if r.to == nil {
		delete(names, r.name)
	} else {
		names[r.name] = r.to
	}
	return names
}

// apply returns contents after an op.
func (o op) apply(contents []byte) []byte {
	if o.data == nil {
		return resized(contents, o.at)
	}
	if end := o.at + int64(len(o.data)); end > int64(len(contents)) {
		contents = resized(contents, end)
	}
	copy(contents[o.at:], o.data)
	return contents
}

func resized(contents []byte, size int64) []byte {
	if size <= int64(len(contents)) {
		return contents[:size:size]
	}
	return append(contents, make([]byte, size-int64(len(contents)))...)
}

// chooser decides how much of n changes reached the disk before power was cut: a number
// from 0 to n.
type chooser func(n int) int

func nothing(int) int      { return 0 }
func everything(n int) int { return n }

// contents returns what the disk may hold of a file. Each sector has the changes up to
// one of its own choice, and so has the size.
func (f *file) contents(choose chooser) []byte {
	result := append([]byte(nil), f.synced...)
	if len(f.pending) == 0 {
		return result
	}
	size := int64(len(f.synced))
	sizes, most := choose(len(f.pending)), size
	reached := map[int64]int{} // how many changes, by sector
	upTo := func(s int64) int {
		n, known := reached[s]
		if !known {
			n = choose(len(f.pending))
			reached[s] = n
		}
		return n
	}
	for i, o := range f.pending {
		if o.data == nil {
			if i < sizes {
				size = o.at
				clear(result[min(o.at, int64(len(result))):])
			}
			continue
		}
		end := o.at + int64(len(o.data))
		if most = max(most, end); most > int64(len(result)) {
			result = resized(result, most)
		}
		if i < sizes {
			size = max(size, end)
		}
		for s := o.at / sector; s*sector < end; s++ {
			if i < upTo(s) {
				from, to := max(s*sector, o.at), min((s+1)*sector, end)
				copy(result[from:to], o.data[from-o.at:to-o.at])
			}
		}
	}
	return resized(result, size)
}

// files returns what the disk may hold if power is cut now: the contents of its files
// by name. Changes of the directory reach the disk in order.
func (m *image) files(choose chooser) map[string][]byte {
	names := maps.Clone(m.durable)
	for _, r := range m.renames[:choose(len(m.renames))] {
		names = entered(names, r)
	}
	found := map[string][]byte{}
	for name, f := range names {
		found[name] = f.contents(choose)
	}
	return found
}

// writeFiles writes files into a new directory.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, contents := range files {
		if err := os.WriteFile(filepath.Join(dir, name), contents, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// cut is a moment at which power may be cut: just before a sync ends, when everything
// that was acknowledged relies on earlier ones.
type cut struct {
	at   time.Time
	sync int    // how many syncs have ended
	path string // of what the sync makes durable
}

// replay applies a record. Before each sync that makes something durable ends, it calls
// each, which may be nil, with the image as it is.
func replay(m *image, events []event, each func(cut)) error {
	for _, e := range events {
		if c := e.call; each != nil && e.end && c.ret >= 0 && m.syncing[c] > 0 {
			each(cut{at: c.ended, sync: m.syncs, path: c.path})
		}
		if err := m.apply(e); err != nil {
			return err
		}
	}
	return nil
}
