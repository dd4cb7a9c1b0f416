package view

import (
	"image/color"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// QRCode is a QR code to be drawn as SVG.
type QRCode struct {
	Path string // the dark modules, each 1 by 1
	Side int    // modules on each side, with the quiet zone
}

// quietZone is the number of empty modules around a QR code (ISO/IEC 18004).
const quietZone = 4

// NewQRCode encodes a text. It returns an error if the text is too long.
func NewQRCode(text string) (*QRCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, err
	}
	bounds := code.Bounds()
	dark := func(x, y int) bool {
		return color.GrayModel.Convert(code.At(x, y)).(color.Gray).Y < 128
	}
	var path strings.Builder
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; {
			from := x
			for x < bounds.Max.X && dark(x, y) {
				x++
			}
			if x == from {
				x++
				continue
			}
			n := strconv.Itoa(x - from)
			path.WriteString("M" + strconv.Itoa(from-bounds.Min.X+quietZone) + " " + strconv.Itoa(y-bounds.Min.Y+quietZone) + "h" + n +
				"v1h-" + n + "z")
		}
	}
	return &QRCode{Path: path.String(), Side: bounds.Dx() + 2*quietZone}, nil
}
