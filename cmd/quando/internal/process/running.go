package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/rules"
)

// thisProcess names this process.
func thisProcess() string {
	host, _ := os.Hostname() // without one, the number has to do
	return fmt.Sprintf("%s %d", host, os.Getpid())
}

// recordRunning records that the engine serves. A failure shows when something is to be recorded.
func (p *Process) recordRunning(ctx context.Context, public, console string) {
	r := storage.Running{Process: thisProcess(), Version: cli.Version(), Since: p.present().UTC(), Public: public, Console: console}
	if p.certificates != nil && p.privately {
		r.Encrypted = p.certificates.name()
	}
	p.storeNote(ctx, storage.RunningCursor, r)
}

// noteRules writes down which rules are in use.
func (p *Process) noteRules(workspace string, set *rules.Set, content sum) {
	p.storeNote(context.Background(), storage.LoadedCursor(workspace), storage.Loaded{
		Process: thisProcess(), At: p.present().UTC(), Rules: len(set.Rules), Broken: len(set.Broken), Content: fmt.Sprintf("%x", content[:8]),
	})
}

func (p *Process) storeNote(ctx context.Context, cursor string, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = p.journal.SetCursor(ctx, cursor, string(text))
	}
	if err != nil {
		p.log.Debug("what the engine is cannot be written down", "error", err)
	}
}
