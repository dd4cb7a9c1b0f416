package mailaddress

import (
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/secure/precis"
)

const (
	// MaxLength is the maximum length of an address in bytes, and maxLocal that of the
	// part before the @ (RFC 5321).
	MaxLength = 254
	maxLocal  = 64
	// maxTyped bounds what is looked at. Normalising may shorten it.
	maxTyped = 1024
)

// Address is an address in its normal form.
type Address struct {
	Local  string // lower case, of one script
	Domain string // lower case ASCII: what has other letters begins with xn--
}

// String returns the address.
func (a Address) String() string { return a.Local + "@" + a.Domain }

// domains maps a domain to ASCII (UTS 46, non-transitional).
var domains = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))

// Parse reads an address. Addresses that look alike have the same form or are refused:
// of the local part, the PRECIS profile UsernameCaseMapped (RFC 8265) refuses invisible
// and bidirectional characters and maps cases and widths, and its letters must be of
// one script. Names, comments, quotes and lists are no address.
func Parse(text string) (a Address, ok bool) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, '@')
	if at < 1 || len(text) > maxTyped || !utf8.ValidString(text) {
		return a, false
	}
	local, err := precis.UsernameCaseMapped.String(text[:at])
	if err != nil || len(local) > maxLocal || strings.ContainsAny(local, `"(),:;<>@[\]`) || !oneScript(local) {
		return a, false
	}
	domain, err := domains.ToASCII(text[at+1:])
	if err != nil {
		return a, false
	}
	a = Address{local, strings.ToLower(domain)}
	parsed, err := mail.ParseAddress(a.String())
	if err != nil || parsed.Address != a.String() || len(a.String()) > MaxLength {
		return Address{}, false
	}
	return a, true
}

// IsPublic reports whether the domain may be one of the Internet: it has a dot and is
// not an IP address.
func (a Address) IsPublic() bool {
	_, err := netip.ParseAddr(a.Domain)
	return err != nil && strings.Contains(a.Domain, ".")
}

// IsASCII reports whether every mail server takes the address.
func (a Address) IsASCII() bool {
	return strings.IndexFunc(a.Local, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// Mailbox returns the address without what many mail servers ignore: a tag after +,
// and the dots of Gmail. Addresses with the same Mailbox reach the same person.
func (a Address) Mailbox() string {
	if local, _, _ := strings.Cut(a.Local, "+"); local != "" {
		a.Local = local
	}
	if a.Domain == "googlemail.com" {
		a.Domain = "gmail.com"
	}
	if a.Domain == "gmail.com" {
		a.Local = strings.ReplaceAll(a.Local, ".", "")
	}
	return a.String()
}

// mixed are the scripts that are written together (UTS 39, highly restrictive).
var mixed = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"},
}

// oneScript reports whether the letters of text are of one script, or of several that
// are written together.
func oneScript(text string) bool {
	var found []string
	for _, r := range text {
		if r <= unicode.MaxASCII && !unicode.IsLetter(r) {
			continue
		}
		if s := scriptOf(r); s != "Common" && s != "Inherited" && !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	if len(found) <= 1 {
		return true
	}
	return slices.ContainsFunc(mixed, func(together []string) bool {
		return !slices.ContainsFunc(found, func(s string) bool { return !slices.Contains(together, s) })
	})
}

func scriptOf(r rune) string {
	if r <= unicode.MaxASCII {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}
