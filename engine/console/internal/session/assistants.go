package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"unicode/utf8"
)

// An AssistantToken is the token of an assistant, with what it may do.
type AssistantToken struct {
	Sum    [sha256.Size]byte // of the token
	Role   Role              // Viewer or Editor
	Shadow bool              // an editor may save rules in shadow
}

// An Assistant is the assistant of a request.
type Assistant struct {
	Name   string
	From   string // the address of the request
	Role   Role
	Shadow bool
}

// hashPrefix begins a token that is given as its hash.
const hashPrefix = "sha256:"

// SumToken returns the hash of a token, or of "sha256:…", which is the hash itself. A hash that can
// be tried at full speed is safe only for tokens that nobody can guess.
func SumToken(token string) (sum [sha256.Size]byte, err error) {
	if text, hashed := strings.CutPrefix(token, hashPrefix); hashed {
		decoded, err := hex.DecodeString(text)
		if err != nil || len(decoded) != sha256.Size {
			return sum, errors.New("sha256: is followed by 64 hexadecimal digits, as sha256sum prints them")
		}
		return [sha256.Size]byte(decoded), nil
	}
	token = strings.TrimSpace(token)
	if utf8.RuneCountInString(token) < tokenLeast {
		return sum, fmt.Errorf("the token has less than %d characters: take one that `openssl rand -hex 32` prints", tokenLeast)
	}
	return sha256.Sum256([]byte(token)), nil
}

// IdentifyAssistant returns the assistant of a request, or nil. There is no way in without a token,
// wherever the request comes from. Wrong tokens count as guesses, and are refused unchecked after
// too many of them.
func (g *Gate) IdentifyAssistant(r *http.Request, log *slog.Logger) (who *Assistant, refused bool) {
	scheme, given, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil, false
	}
	from, now := g.From(r), g.now()
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	for name, t := range g.Assistants {
		if subtle.ConstantTimeCompare(sum[:], t.Sum[:]) == 1 {
			who = &Assistant{name, from, t.Role, t.Shadow}
		}
	}
	accepted, refused := g.guesses.token(from, who != nil, now)
	if accepted {
		return who, false
	}
	g.guesses.logAttempt(log, from, "a token of an assistant", refused, now)
	return nil, refused
}

// checkAssistants returns what is wrong with the tokens of assistants.
func (a *Access) checkAssistants() error {
	for name, t := range a.Assistants {
		if t.Role != Viewer && t.Role != Editor {
			return fmt.Errorf("mcp.tokens.%s: an assistant is a viewer or an editor", name)
		}
		if t.Shadow && t.Role != Editor {
			return fmt.Errorf("mcp.tokens.%s: only an editor may save in shadow", name)
		}
	}
	return nil
}
