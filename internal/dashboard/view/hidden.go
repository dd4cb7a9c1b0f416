package view

// Hidden is whether headers of a page are credentials, which are masked until they
// are revealed.
type Hidden struct {
	Any        bool
	Show, Hide string // the address that does so; "" if it can't be done
}

// revealed returns the parameter that shows credentials on another page, if this
// one shows them.
func revealed(h Hidden) string {
	if h.Hide != "" {
		return "?reveal=true"
	}
	return ""
}
