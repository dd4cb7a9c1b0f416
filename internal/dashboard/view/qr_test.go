package view

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"
)

func TestNewQRCode_DrawsEachModule(t *testing.T) {
	t.Parallel()
	// The address of the longest email.
	email := strings.Repeat("a", 242) + "@example.com"
	text := "otpauth://totp/punctual:" + email + "?issuer=punctual&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	drawn, err := NewQRCode(text)
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		t.Fatal(err)
	}
	side := code.Bounds().Dx()
	if drawn.Side != side+8 {
		t.Errorf("the side is %d, want %d and the quiet zone", drawn.Side, side)
	}
	grid := map[[2]int]bool{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(drawn.Path, -1) {
		var x, y, n, back int
		_, _ = fmt.Sscan(strings.Join(run[1:], " "), &x, &y, &n, &back)
		if n != back {
			t.Errorf("a run is %s", run[0])
		}
		for i := range n {
			grid[[2]int{x + i, y}] = true
		}
	}
	for y := range side {
		for x := range side {
			r, _, _, _ := code.At(x, y).RGBA()
			if grid[[2]int{x + 4, y + 4}] != (r == 0) {
				t.Fatalf("the module at %d, %d is drawn wrongly", x, y)
			}
		}
	}
}
