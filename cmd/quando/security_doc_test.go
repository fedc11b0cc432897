package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every promise of SECURITY.md names tests that are there.
func TestSecurityDoc(t *testing.T) {
	raw, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, _ := strings.Cut(string(raw), "\n## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| [A-Z].* \|$`).FindAllString(promises, -1)
	if len(rows) < 10 {
		t.Fatalf("%d promises were found", len(rows))
	}
	for _, row := range rows {
		tests := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z]+)`").FindAllStringSubmatch(row, -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", row)
		}
		for _, m := range tests {
			if err := hasTest(filepath.Join("../..", m[1]), m[2]); err != nil {
				t.Error(err)
			}
		}
	}
}

// hasTest returns an error where a package has no test of a name.
func hasTest(folder, name string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return nil
		}
	}
	return fmt.Errorf("%s has no %s", folder, name)
}
