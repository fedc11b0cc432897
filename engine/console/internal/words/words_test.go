package words

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestLanguageOf(t *testing.T) {
	for header, want := range map[string]string{
		"": "en", "pt-BR,pt;q=0.9,en;q=0.8": "pt", "en-US,en;q=0.9,pt;q=0.8": "en", "de, pt;q=0.5, en;q=0.4": "pt", "fr": "en", "pt;q=x": "en",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Language", header)
		if got := LanguageOf(r); got != want {
			t.Errorf("%q: %s", header, got)
		}
		r.AddCookie(&http.Cookie{Name: Cookie, Value: "pt"})
		if got := LanguageOf(r); got != "pt" {
			t.Errorf("%q with a cookie: %s", header, got)
		}
	}
}
