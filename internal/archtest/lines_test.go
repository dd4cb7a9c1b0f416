package archtest

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxColumns is the most characters that a line may have.
	maxColumns = 140
	// longText is from how many bytes on a string may make its lines longer: to break it
	// would hide what it says.
	longText = 60
)

func TestLines_AreShort(t *testing.T) {
	for _, p := range packages(t) {
		for _, file := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if isGenerated(text) {
				continue
			}
			texts := linesOfTexts(text)
			number := 0
			for line := range strings.Lines(string(text)) {
				number++
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxColumns && !texts[number] {
					t.Errorf("%s:%d has more than %d columns; wrap it", filepath.Join(p.Dir, file), number, maxColumns)
				}
			}
		}
	}
}

// linesOfTexts returns the lines on which a long string is, or a part of it.
func linesOfTexts(source []byte) map[int]bool {
	lines := map[int]bool{}
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.STRING && len(literal) >= longText {
			first := file.Line(at)
			for n := range 1 + strings.Count(literal, "\n") {
				lines[first+n] = true
			}
		}
	}
}
