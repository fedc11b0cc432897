package rulescmd

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

// barAfter is how long something must take for a person to be told how far it is.
const barAfter = time.Second

// A progress shows how many of some tests have been run. A nil one shows nothing.
type progress struct {
	w     io.Writer
	total int
	start *time.Timer

	mu       sync.Mutex
	bar      *progressbar.ProgressBar // nil while none is shown
	done     int
	tellings int
}

// newProgress begins a progress on a terminal; anywhere else it is nil.
func newProgress(w io.Writer, total int) *progress {
	if !cli.IsTerminal(w) {
		return nil
	}
	return startProgress(w, total, barAfter)
}

func startProgress(w io.Writer, total int, after time.Duration) *progress {
	p := &progress{w: w, total: total}
	p.start = time.AfterFunc(after, p.show)
	return p
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar = progressbar.NewOptions(p.total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.words()),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false))
	p.render()
}

func (p *progress) words() string { return fmt.Sprintf("tests, told %d times", p.tellings) }

// render shows how far it is. A terminal that has gone away is nobody's loss.
func (p *progress) render() {
	if p.bar != nil {
		_ = p.bar.Set(p.done)
		p.bar.Describe(p.words())
	}
}

// telling notes that a story is told once more.
func (p *progress) telling() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tellings++
	p.render()
}

// aside lets what came of a test be written while the bar is out of the way.
func (p *progress) aside(write func()) {
	if p == nil {
		write()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	write()
	p.done++
	p.render()
}

// end takes the bar away. It may be called twice.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.start.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
