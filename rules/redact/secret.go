package redact

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/quandohq/quando/rules/internal/template"
)

// IsSecretHeader reports, by a header's name, whether its value may be a secret.
func IsSecretHeader(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "cookie", "key", "token", "secret", "password", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

var (
	// SecretForms match texts that are certainly secrets: keys of well-known services, signed tokens,
	// private keys.
	SecretForms = regexp.MustCompile(`\b[sr]k_(?:live|test)_\w{16,}|\bsk-[\w-]{24,}|\bgh[pousr]_\w{30,}|\bgithub_pat_\w{30,}|\bglpat-[\w-]{20,}|\bxox[abeoprs]-[\w-]{20,}|` +
		`\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bwhsec_[\w+/=-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	secretName  = regexp.MustCompile(`(?i)token|secret|password|passwd|senha|api[_-]?key|access[_-]?key|credential`)
	secretQuery = regexp.MustCompile(`(?i)[?&](?:[\w-]*(?:token|secret|password|senha|api_?key|access_?key)|key|auth|sig|signature)=([^&\s{}]+)`)
	authScheme  = regexp.MustCompile(`(?i)\b(?:bearer|basic|token|apikey)\s+(\S+)`)
)

// IsSecretName reports whether a name says that its value is a secret.
func IsSecretName(name string) bool { return secretName.MatchString(name) }

// LooksSecret reports whether a text looks like a secret. Named and address say whether it is the
// value of a secret's name, or is an address. It prefers a miss to a false alarm.
func LooksSecret(text string, named, address bool) bool {
	segments, _ := template.Split(text)
	for _, s := range segments {
		if s.Expression || !named && !address && !hasLongWord(s.Text) {
			continue
		}
		if SecretForms.MatchString(s.Text) {
			return true
		}
		if m := authScheme.FindStringSubmatch(s.Text); m != nil && looksRandom(m[1], 16) {
			return true
		}
		if m := secretQuery.FindStringSubmatch(s.Text); address && m != nil && looksRandom(m[1], 8) {
			return true
		}
		if named && looksRandom(s.Text, 8) {
			return true
		}
		if address && len(pathParts(s.Text)) > 0 {
			return true
		}
	}
	return false
}

// hasLongWord reports whether a text may hold a secret by itself: a word of 16 characters or more
// with a digit, or a line of dashes. It spares most texts the patterns.
func hasLongWord(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if len(word) >= 16 && strings.ContainsAny(word, "0123456789") {
			return true
		}
	}
	return strings.Contains(text, "-----")
}

// looksRandom reports whether a text is one long word with both letters and digits in it, and no
// address.
func looksRandom(s string, least int) bool {
	return len(s) >= least && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.Contains(s, "://") &&
		strings.ContainsFunc(s, unicode.IsDigit) && strings.ContainsFunc(s, unicode.IsLetter)
}
