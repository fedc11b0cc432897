// Package planted has bugs that are planted into the engine, one at a time, to see that the tests
// find them. It is for tests.
package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Bug is one that somebody might write.
type Bug struct {
	Name     string // the sentence of the design that it breaks
	Edits    []Edit
	Examples string // the example whose tests find it in the short form
	Early    bool   // one of the first made-up desks shows it: it is planted in the short form

	// Unseen says why made-up desks do not find it, and Finder which test does, as package and name.
	// They are empty for most.
	Unseen string
	Finder [2]string
	Flags  []string // of go test, for the Finder
}

// An Edit replaces a text that a file has exactly once. The file is named from the root of the
// module.
type Edit struct{ File, Old, New string }

// ByExamples returns the bugs that the tests of the examples find.
func ByExamples() []Bug { return slices.Clone(byExamples) }

// All returns all bugs.
func All() []Bug { return slices.Concat(byExamples, bySimulation) }

// Apply returns the files that the bug is in, with the bug. root is where the module is.
func (b *Bug) Apply(root string) (map[string]string, error) {
	texts := make(map[string]string)
	for _, e := range b.Edits {
		if _, read := texts[e.File]; !read {
			text, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, err
			}
			texts[e.File] = string(text)
		}
		if n := strings.Count(texts[e.File], e.Old); n != 1 {
			return nil, fmt.Errorf("%s: %s has this %d times:\n%s", b.Name, e.File, n, e.Old)
		}
		texts[e.File] = strings.Replace(texts[e.File], e.Old, e.New, 1)
	}
	return texts, nil
}

// Overlay writes into a folder what go build's -overlay takes, and returns its name. The files
// themselves stay as they are: the compiler is shown others in their place.
func (b *Bug) Overlay(root, folder string) (string, error) {
	texts, err := b.Apply(root)
	if err != nil {
		return "", err
	}
	replace := make(map[string]string, len(texts))
	for file, text := range texts {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		changed := filepath.Join(folder, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[original] = changed
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}
