package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bom is a list of components in the form of CycloneDX 1.6, as far as it is used.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licence  `json:"licenses,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// components writes what a program was linked from, as the program itself records it.
func (r *release) components(b binary) error {
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return err
	}
	sum, err := hashOf(b.path)
	if err != nil {
		return err
	}
	return writeFile(r.name(b.os+"_"+b.arch+".cdx.json"), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r.bom(b, info, sum))
	})
}

func (r *release) bom(b binary, info *debug.BuildInfo, sum string) bom {
	program := component{
		Type: "application", Name: "punctual", Version: r.source.version, PURL: packageURL(info.Main.Path, r.source.version),
		Hashes: []hash{{"SHA-256", sum}}, Licenses: []licence{{"MIT"}},
		Properties: []property{{"punctual:target", b.target.String()}, {"punctual:commit", r.source.commit}},
	}
	program.Ref = program.PURL
	list := []component{standardLibrary(info.GoVersion)}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		purl := packageURL(module.Path, module.Version)
		list = append(list, component{Type: "library", Ref: purl, Name: module.Path, Version: module.Version, PURL: purl})
	}
	slices.SortFunc(list, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	all := dependency{Ref: program.Ref}
	for _, c := range list {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	return bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{r.source.date.Format(time.RFC3339), program},
		Components: list, Dependencies: []dependency{all},
	}
}

// standardLibrary is named as vulnerability databases name it.
func standardLibrary(toolchain string) component {
	version := strings.TrimPrefix(toolchain, "go")
	purl := packageURL("stdlib", version)
	return component{Type: "library", Ref: purl, Name: "stdlib", Version: version, PURL: purl}
}

// packageURL names a module of Go as in pkg:golang/golang.org/x/net@v0.62.0.
func packageURL(path, version string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "pkg:golang/" + strings.Join(parts, "/") + "@" + url.QueryEscape(version)
}
