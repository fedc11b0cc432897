package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

// TestLongLog records much without a pause: the checkpointer moves it into the database file in the
// meantime, and the log stays bounded.
func TestLongLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal.db")
	j, err := Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	text := strings.Repeat("x", 20_000)
	size := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	// A busy machine may delay checkpoints, so give the log time.
	var recorded int64
	log := func() int64 { return size(file + "-wal") }
	for recorded < 200<<20 || log() > recorded/2 && recorded < 1<<30 {
		events := make([]rules.Event, 50)
		for k := range events {
			events[k] = rules.Event{Workspace: "default", ID: strings.Join([]string{time.Now().String(), string(rune('a' + k%26)), string(rune('a' + k/26))}, " "), Type: "message.received", Lane: "conversation:1", ReceivedAt: time.Now(), Data: map[string]any{"text": text}}
		}
		if _, err := j.Accept(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		recorded += int64(len(events) * len(text))
	}
	t.Logf("%d MiB recorded, the file has %d MiB and the log %d MiB", recorded>>20, size(file)>>20, log()>>20)
	if log := log(); log > recorded/2 {
		t.Errorf("the log has %d MiB of %d MiB that were recorded", log>>20, recorded>>20)
	}
}
