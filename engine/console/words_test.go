package console

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/source"
)

var (
	// codeInWords matches what nobody says; ownText is what people write themselves: addresses, and
	// patterns, which are beyond words.
	codeInWords = regexp.MustCompile(`[{}=_#]|\?\.|\?\?|&&|\|\||\w\(|%!|[a-z]\.[a-z*]|\bnil\b`)
	ownText     = regexp.MustCompile(`https://\S*|\(\?i\)\S*`)
)

// chipsOf returns the words of everything that a rule says in the studio, but for what it could
// say.
func chipsOf(v reflect.Value) (list []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			list = chipsOf(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, chipsOf(v.Index(i))...)
		}
	case reflect.Struct:
		switch part := v.Interface().(type) {
		case studio.Chip:
			return []string{part.Words}
		case studio.TextPart:
			return []string{part.Words}
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type().Field(i).IsExported() && name != "Add" && name != "MoreBounds" && name != "Rules" && name != "Scope" && name != "Problems" && name != "IfProblems" {
				list = append(list, chipsOf(v.Field(i))...)
			}
		}
	}
	return list
}

// TestInWords shows that the paragraph beside a rule says all of it in either language, without a
// character of code: of every example, and of the sixteen automations that live together.
func TestInWords(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it reads every rule")
	}
	catalog, count := builtin.Catalog(), 0
	for _, folder := range []fs.FS{examples.FS(), os.DirFS(filepath.Join("..", "..", "cmd", "quando", "testdata", "sixteen"))} {
		err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text := must(fs.ReadFile(folder, path))
			file, _ := source.Read(path, text)
			if file.Root == nil || file.Root.Get("rules") == nil {
				return nil
			}
			for _, item := range file.Root.Get("rules").Items {
				id := item.Get("id").Value
				count++
				for code, templates := range allTemplates(time.Now) {
					maker := &studio.Maker{Language: templates.Language, Catalog: catalog, Catalogue: form.NewCatalogue(catalog), Vars: studio.Vars(text)}
					view := maker.View(must(form.Read(catalog, text, id)), nil)
					var b strings.Builder
					if err := templates.show(&b, "write", "inwords", railPart{View: &view}); err != nil {
						t.Fatal(err)
					}
					said := plainText(b.String())
					if found := codeInWords.FindString(ownText.ReplaceAllString(said, "")); found != "" {
						t.Errorf("%s, %s, %s: %q in\n%s", path, id, code, found, said)
					}
					for _, words := range chipsOf(reflect.ValueOf(view)) {
						if words = plainText(words); !strings.Contains(strings.ReplaceAll(said, " ", ""), strings.ReplaceAll(words, " ", "")) {
							t.Errorf("%s, %s, %s: %q is not said in\n%s", path, id, code, words, said)
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 30 {
		t.Errorf("only %d rules were found", count)
	}
}
