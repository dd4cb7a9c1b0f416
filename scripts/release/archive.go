package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	path string // where its contents are; none of a directory
	mode fs.FileMode
}

// archive packs the program with its licence and its introduction, for Linux also with its
// systemd unit: as a zip file for Windows, compressed by gzip elsewhere.
func (r *release) archive(b binary) error {
	entries := []entry{
		{filepath.Base(b.path), b.path, 0o755},
		{"LICENSE", filepath.Join(r.root, "LICENSE"), 0o644},
		{"README.md", filepath.Join(r.root, "README.md"), 0o644},
		{"CHANGELOG.md", filepath.Join(r.root, "CHANGELOG.md"), 0o644},
	}
	if b.os == "linux" {
		entries = append(entries, entry{"punctual.service", filepath.Join(r.root, "deploy", "systemd", "punctual.service"), 0o644})
	}
	suffix := b.os + "_" + b.arch
	if b.os == "windows" {
		return writeFile(r.name(suffix+".zip"), func(w io.Writer) error { return writeZip(w, entries, r.source.date) })
	}
	return writeFile(r.name(suffix+".tar.gz"), func(w io.Writer) error { return writeTar(w, entries, r.source.date) })
}

// container packs what an image is built from.
func (r *release) container(binaries []binary) error {
	entries := []entry{
		{"data/", "", fs.ModeDir | 0o755},
		{"Dockerfile", filepath.Join(r.root, "deploy", "container", "Dockerfile"), 0o644},
		{"LICENSE", filepath.Join(r.root, "LICENSE"), 0o644},
	}
	for _, b := range binaries {
		entries = append(entries, entry{"linux/" + b.arch + "/punctual", b.path, 0o755})
	}
	return writeFile(r.name("container.tar.gz"), func(w io.Writer) error { return writeTar(w, entries, r.source.date) })
}

// writeTar writes a compressed archive whose bytes depend on the files alone. All
// times are date, all owners are root.
func writeTar(w io.Writer, entries []entry, date time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		if e.mode.IsDir() {
			header := &tar.Header{Typeflag: tar.TypeDir, Name: e.name, Mode: int64(e.mode.Perm()), ModTime: date, Uname: "root",
				Gname: "root", Format: tar.FormatUSTAR}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			continue
		}
		err := e.open(func(size int64, contents io.Reader) error {
			header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: size, Mode: int64(e.mode), ModTime: date, Uname: "root",
				Gname: "root", Format: tar.FormatUSTAR}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			_, err := io.Copy(archive, contents)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

// writeZip is writeTar as a zip file.
func writeZip(w io.Writer, entries []entry, date time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		err := e.open(func(_ int64, contents io.Reader) error {
			header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date}
			header.SetMode(e.mode)
			file, err := archive.CreateHeader(header)
			if err != nil {
				return err
			}
			_, err = io.Copy(file, contents)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return archive.Close()
}

// open passes a file's size and contents on.
func (e entry) open(use func(size int64, contents io.Reader) error) error {
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return use(info.Size(), file)
}

// writeFile creates a file.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
