// Package assets has the files that pages of the dashboard load: style sheets,
// scripts (app.js has conveniences, live.js the live parts), htmx and a typeface with
// their licences, and the logo.
//
// The files are embedded, so pages load nothing from other servers. Each is served
// under a name that contains a hash of its content, so browsers may cache it for a
// year. [Path] returns that name; pages always use it.
//
// htmx.min.js is htmx.org 2.0.11 as published, see htmx.LICENSE.txt. To update it,
// replace both files with those of the new version.
//
// inter.woff2 is the typeface Inter, under the SIL Open Font License: see
// inter.LICENSE.txt. It has Latin-1 and common punctuation, weights from 400 to 650,
// kerning and tabular figures. It was made with fonttools 4.38 from
// files/inter-latin-wght-normal.woff2 of @fontsource-variable/inter 5.3.0:
//
//	python3 -m fontTools.varLib.instancer inter-latin-wght-normal.woff2 wght=400:650 -o inter.ttf
//	python3 -m fontTools.subset inter.ttf --layout-features=kern,tnum --no-hinting --flavor=woff2 \
//	  --unicodes=U+0020-007E,U+00A0-00FF,U+2013,U+2014,U+2018,U+2019,U+201C,U+201D,U+2022,U+2026,U+2212 \
//	  --output-file=inter.woff2
package assets
