package view

import (
	"strconv"
	"time"
)

// Factor is the page of the second factor.
type Factor struct {
	Email string
	// On is set once the second factor is confirmed.
	On           bool
	ConfirmedAt  time.Time
	RecoveryLeft int // recovery codes that were not used
	HasPassword  bool
	// Enrolling is set while the second factor waits for its confirmation.
	Enrolling   bool
	QR          *QRCode
	Address     string // the otpauth URL
	Secret      string
	NewRecovery []string // shown once
	Notice      string
	Refusal
}

// recoveryLeft returns a sentence about the recovery codes that are left.
func recoveryLeft(n int) string {
	switch n {
	case 0:
		return "No recovery code is left. Create new ones now."
	case 1:
		return "One recovery code is left."
	default:
		return strconv.Itoa(n) + " recovery codes are left."
	}
}
