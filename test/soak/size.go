package soak

import (
	"os"
	"strconv"
	"time"
)

// size is how large a run is.
type size struct {
	lasts    time.Duration
	rate     float64 // calls a second that create jobs
	accounts int
}

// judged is how long a run takes at least for its trends to be judged.
const judged = 20 * time.Minute

func sizeOfRun() size {
	z := size{lasts: time.Duration(number("PUNCTUAL_SOAK_SECONDS", 30)) * time.Second, rate: 5, accounts: watchers}
	if z.lasts >= judged {
		z.rate, z.accounts = 20, 50
	}
	z.rate = float64(number("PUNCTUAL_SOAK_RATE", int(z.rate)))
	z.accounts = max(watchers, number("PUNCTUAL_SOAK_ACCOUNTS", z.accounts))
	return z
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}
