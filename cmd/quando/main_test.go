package main

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"quando": func() {
			if at, err := time.Parse(time.RFC3339, os.Getenv("TEST_NOW")); err == nil {
				cli.Now = func() time.Time { return at }
			}
			main()
		},
		"alone": func() { runAlone(os.Args[1:]) },
	})
}

// TestScript runs the command lines of testdata/script as a person would type them.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"journal": journalCommand, "hold": holdCommand, "weekend": weekendCommand},
	})
}
