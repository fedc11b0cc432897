package console

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// picture writes a picture of the page, where that is wanted.
func (b *browser) picture(name, lang, theme string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	// The screen is as high as the page: what is fixed at its bottom would stand in the middle.
	size := look(b, "measure", chromedp.Evaluate[[]int64](`[window.innerWidth, window.innerHeight, document.documentElement.scrollHeight]`))
	b.do(chromedp.EmulateViewport(size[0], max(size[1], size[2])))
	shot := look(b, "take a picture", chromedp.FullScreenshot(100))
	b.do(chromedp.EmulateViewport(size[0], size[1]))
	if err := os.MkdirAll(*screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	// The browser is quick rather than thorough, and pages have few colours.
	small := fewColours(must(png.Decode(bytes.NewReader(shot))), 128)
	file := must(os.Create(filepath.Join(*screenshots, fmt.Sprintf("%s-%s-%s.png", name, lang, theme))))
	if err := errors.Join((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, small), file.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// fewColours returns a picture with at most so many colours: the most frequent ones, and of those
// that hardly differ one.
func fewColours(from image.Image, most int) *image.Paletted {
	bounds, count := from.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		r, g, b, _ := from.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return count[b] - count[a] })
	const near, large = 16, 2000
	palette := color.Palette{}
	for _, c := range all {
		alike := count[c] < large && slices.ContainsFunc(palette, func(o color.Color) bool { return distance(o.(color.RGBA), c) < near })
		if len(palette) < most && !alike {
			palette = append(palette, c)
		}
	}
	out, places := image.NewPaletted(bounds, palette), map[color.RGBA]uint8{}
	for c := range count {
		places[c] = uint8(palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, places[at(x, y)])
		}
	}
	return out
}

func distance(a, b color.RGBA) int {
	part := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return part(a.R, b.R) + part(a.G, b.G) + part(a.B, b.B)
}

// TestPicturesAreSmall keeps what is downloaded with every copy of the project small.
func TestPicturesAreSmall(t *testing.T) {
	var all int64
	for _, name := range must(filepath.Glob("../../docs/screenshots/*.png")) {
		all += must(os.Stat(name)).Size()
	}
	if all == 0 || all > 4<<20 {
		t.Errorf("the pictures have %d KiB", all>>10)
	}
}
