package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

var stepBlock = regexp.MustCompile("(?ms)^ +```console\n(.*?)^ +```$")

// TestInstallDoc types the steps of installing in docs/operations.md, from a folder with nothing
// but an unpacked archive. Where they need root, the machine's folders are below that folder, and
// the engine is started in the place of systemd.
func TestInstallDoc(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	r := newReader(t)
	top := r.folder
	if err := os.CopyFS(filepath.Join(top, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	below := strings.NewReplacer("/etc/quando", top+"/etc/quando", "/var/lib/quando", top+"/var/lib/quando", "https://hooks.example.com/", "http://127.0.0.1:8080/")
	r.types(`quando sandbox --env sandbox.env --webhook "" --allow-loopback >sandbox.log & until [ -s sandbox.log ]; do sleep 0.05; done`)
	typed := 0
	for _, block := range stepBlock.FindAllStringSubmatch(readDoc(t, "docs/operations.md"), -1) {
		for line := range strings.Lines(block[1]) {
			command := below.Replace(strings.TrimPrefix(strings.TrimSpace(line), "$ "))
			switch {
			case strings.Contains(command, "quando-backup.timer"):
				continue // the next line starts what it starts
			case command == "systemctl start quando-backup":
				unit := readDoc(t, "deploy/quando-backup.service")
				command = below.Replace(regexp.MustCompile(`(?m)^ExecStart=/usr/bin/(.*)$`).FindStringSubmatch(unit)[1])
			case command == "systemctl enable --now quando":
				command = "quando run >run.log 2>&1 & until quando health --ready; do sleep 0.05; done"
			case command == "cd "+top+"/etc/quando":
				writeInstalled(t, top, below)
			case command == "quando webhook list": // the engine registers it
				r.types("until quando webhook list | grep -q /webhook; do sleep 0.05; done")
			}
			r.types(command)
			typed++
		}
	}
	r.sees("0 faults")
	if typed < 13 {
		t.Errorf("the document has %d commands", typed)
	}
	for name, want := range map[string]string{"etc/quando/environment": "-rw-------", "etc/quando/quando.yaml": "-rw-r--r--", "var/lib/quando": "drwx------"} {
		if info, err := os.Stat(filepath.Join(top, name)); err != nil || info.Mode().String() != want {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// writeInstalled edits what a person edits: the secrets, and the addresses of the configuration.
func writeInstalled(t *testing.T, top string, below *strings.Replacer) {
	t.Helper()
	secrets, err := os.ReadFile(filepath.Join(top, "sandbox.env"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, "etc", "quando", "quando.yaml")
	config, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(secrets)) {
		if strings.HasPrefix(line, "SERVICE_URL=") || strings.HasPrefix(line, "SERVICE_API_KEY=") {
			fmt.Fprint(&b, line)
		}
	}
	clitest.WriteFile(t, filepath.Join(top, "etc", "quando", "environment"), b.String())
	clitest.WriteFile(t, file, below.Replace(string(config)))
}
