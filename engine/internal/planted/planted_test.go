package planted_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/engine/internal/planted"
)

const root = "../../.."

// TestApply: every bug can still be planted, and has a name of its own.
func TestApply(t *testing.T) {
	names := map[string]bool{}
	for _, b := range planted.All() {
		if _, err := b.Apply(root); err != nil {
			t.Error(err)
		}
		if names[b.Name] {
			t.Errorf("two bugs are called %q", b.Name)
		}
		names[b.Name] = true
	}
}

// TestCompiles: every package that a bug is in has no error of types with it. The packages that it
// imports are taken as the compiler has left them, so nothing is compiled for a bug.
func TestCompiles(t *testing.T) {
	packages := list(t)
	positions := token.NewFileSet()
	from := importer.ForCompiler(positions, "gc", func(path string) (io.ReadCloser, error) { return os.Open(packages[path].Export) })
	for _, b := range planted.All() {
		texts, err := b.Apply(root)
		if err != nil {
			t.Error(err)
			continue
		}
		for folder := range foldersOf(texts) {
			p := packages["github.com/quandohq/quando/"+folder]
			var files []*ast.File
			for _, name := range p.GoFiles {
				var text any // nil is the file as it is
				if changed, ok := texts[folder+"/"+name]; ok {
					text = changed
				}
				file, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), text, parser.SkipObjectResolution)
				if err != nil {
					t.Errorf("%s: %v", b.Name, err)
				}
				files = append(files, file)
			}
			if len(files) == 0 {
				t.Errorf("%s: no package in %s", b.Name, folder)
			}
			check := types.Config{Importer: from, Error: func(err error) { t.Errorf("%s: %v", b.Name, err) }}
			_, _ = check.Check(p.ImportPath, positions, files, nil) // what it finds was told
		}
	}
}

// A compiled package, as go list tells of it.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// list compiles what bugs are planted into, and returns the packages by their paths, with all that
// they import.
func list(t *testing.T) map[string]compiled {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	folders := map[string]bool{}
	for _, b := range planted.All() {
		for _, e := range b.Edits {
			if folder := path.Dir(e.File); !folders[folder] {
				folders[folder] = true
				args = append(args, "./"+folder)
			}
		}
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]compiled{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p compiled
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	return packages
}

// foldersOf returns the folders of files.
func foldersOf(texts map[string]string) map[string]bool {
	folders := map[string]bool{}
	for file := range texts {
		folders[path.Dir(file)] = true
	}
	return folders
}
