package assets

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	comments     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	faces        = regexp.MustCompile(`(?s)@font-face \{.*?\}`)
	tokenBlocks  = regexp.MustCompile(`(?s):root \{.*?\}`)
	definitions  = regexp.MustCompile(`(--[a-z0-9-]+):`)
	uses         = regexp.MustCompile(`var\((--[a-z0-9-]+)\)`)
	declarations = regexp.MustCompile(`([a-z-]+):\s*([^;{}]+)[;}]`)
	colours      = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch|lab|color-mix|light-dark)\(|\b(?:white|black|red|green|blue|gray|grey|orange|yellow)\b`)
	sizes        = regexp.MustCompile(`[0-9.]+(?:px|rem|em|pt)\b`)
	seconds      = regexp.MustCompile(`\b[0-9.]+m?s\b`)
)

// strays are what a property's value must not contain outside of the tokens.
var strays = []struct {
	properties, what string
	pattern          *regexp.Regexp
}{
	{`.*`, "a colour", colours},
	{`font|font-size|letter-spacing`, "a size of text", sizes},
	{`font-weight`, "a weight", regexp.MustCompile(`\b(?:[1-35-9]\d\d|450|bold)\b`)},
	{`(?:padding|margin|gap|row-gap|column-gap)(?:-.*)?`, "a space", sizes},
	{`border-radius`, "a corner", sizes},
	{`transition|animation`, "a duration", seconds},
}

// tokenTexts returns the tokens of the style, and the rest of each style sheet.
func tokenTexts(t *testing.T) (tokens []string, rests map[string]string) {
	t.Helper()
	names, err := fs.Glob(files, "static/*.css")
	if err != nil || len(names) == 0 {
		t.Fatalf("found %v, %v", names, err)
	}
	rests = map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		style := faces.ReplaceAllString(comments.ReplaceAllString(string(text), ""), "")
		for _, block := range tokenBlocks.FindAllString(style, -1) {
			for _, d := range definitions.FindAllStringSubmatch(block, -1) {
				tokens = append(tokens, d[1])
			}
		}
		rests[name] = tokenBlocks.ReplaceAllString(style, "")
	}
	slices.Sort(tokens)
	return slices.Compact(tokens), rests
}

func TestStyle_UsesTokensForColoursAndSizes(t *testing.T) {
	tokens, rests := tokenTexts(t)
	for name, style := range rests {
		for _, d := range declarations.FindAllStringSubmatch(style, -1) {
			for _, s := range strays {
				if !regexp.MustCompile(`^(?:` + s.properties + `)$`).MatchString(d[1]) {
					continue
				}
				// A pixel is a hairline.
				for _, found := range s.pattern.FindAllString(d[2], -1) {
					if found != "1px" {
						t.Errorf("%s has %s besides the tokens: %s: %s", name, s.what, d[1], d[2])
					}
				}
			}
		}
		for _, use := range uses.FindAllStringSubmatch(style, -1) {
			if !slices.Contains(tokens, use[1]) {
				t.Errorf("%s uses %s, which is no token", name, use[1])
			}
		}
	}
}

func TestStyle_TokensAreUsedAndDescribed(t *testing.T) {
	described, err := os.ReadFile("../../../docs/design-system.md")
	if err != nil {
		t.Fatal(err)
	}
	tokens, rests := tokenTexts(t)
	var all strings.Builder
	for name := range rests {
		text, _ := fs.ReadFile(files, name)
		all.Write(text)
	}
	for _, token := range tokens {
		if !strings.Contains(all.String(), "var("+token+")") {
			t.Errorf("%s is not used", token)
		}
		if !strings.Contains(string(described), "`"+token+"`") {
			t.Errorf("docs/design-system.md does not describe %s", token)
		}
	}
}
