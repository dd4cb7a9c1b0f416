package view

// Consent is the page that asks the owner of an address whether an account's alerts
// may send e-mails there.
type Consent struct {
	Address            string
	Asker              string // the email of the account
	Service            string // its host
	Confirmed, Refused bool
	Notice             string
}
