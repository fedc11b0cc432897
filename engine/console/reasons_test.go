package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/service/sandbox"
)

// TestReasonsInWords shows that what went wrong is said in the reader's language wherever quando
// itself says it, and that what the service said stays as it said it, in quotes.
func TestReasonsInWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.says(bento, "Bento Alves", "boom")
	d.pass(time.Minute)
	unknown := "/runs/" + itoa(d.runOf("breaks"))
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: http.StatusUnprocessableEntity, Count: 10}); err != nil {
		t.Fatal(err)
	}
	d.says(marina, "Marina Souza", "Oi")
	d.pass(time.Minute)
	refused := "/runs/" + itoa(d.runOf("greet"))
	for _, one := range []struct{ path, en, pt string }{
		{unknown, "there is no person named “Nobody Atall”", "não existe pessoa com o nome “Nobody Atall”"},
		{"/", "there is no person named “Nobody Atall”", "não existe pessoa com o nome “Nobody Atall”"},
		{refused, "the service refused it", "o serviço recusou"},
	} {
		for _, l := range words.Languages {
			want, other := one.en, one.pt
			if l.Code != "en" {
				want, other = other, want
			}
			text := plainText(technical.ReplaceAllString(d.page(one.path, func(r *http.Request) { r.Header.Set("Accept-Language", l.Tag) }), " "))
			if !strings.Contains(text, want) || strings.Contains(text, other) {
				t.Errorf("%s, %s: %q is not said:\n%s", one.path, l.Code, want, text)
			}
		}
	}
}
