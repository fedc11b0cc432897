package rules

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/quandohq/quando/rules/source"
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
	// SecretForms are texts that nothing but a secret looks like: keys of well-known services, signed tokens, private keys.
	SecretForms = regexp.MustCompile(`\b[sr]k_(?:live|test)_\w{16,}|\bsk-[\w-]{24,}|\bgh[pousr]_\w{30,}|\bgithub_pat_\w{30,}|\bglpat-[\w-]{20,}|\bxox[abeoprs]-[\w-]{20,}|` +
		`\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bwhsec_[\w+/=-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	secretName  = regexp.MustCompile(`(?i)token|secret|password|passwd|senha|api[_-]?key|access[_-]?key|credential`)
	secretQuery = regexp.MustCompile(`(?i)[?&](?:[\w-]*(?:token|secret|password|senha|api_?key|access_?key)|key|auth|sig|signature)=([^&\s{}]+)`)
	authScheme  = regexp.MustCompile(`(?i)\b(?:bearer|basic|token|apikey)\s+(\S+)`)
)

// warnOfSecrets warns of texts that look like secrets: a rule is shown to people, and recorded with every run.
func (c *compiler) warnOfSecrets(n *source.Node, name string, headers bool) {
	for _, item := range n.Items {
		c.warnOfSecrets(item, name, headers)
	}
	for _, p := range n.Pairs {
		c.warnOfSecrets(p.Value, p.Key.Value, name == "headers")
	}
	if n.Kind != source.Scalar {
		return
	}
	// Each value is checked once for each role, however many aliases refer to it.
	look := secretLook{n.Line, n.Column, headers && IsSecretHeader(name) || secretName.MatchString(name), name == "url" || name == "http_request"}
	if c.looked[look] {
		return
	}
	c.looked[look] = true
	if !looksSecret(n.Value, look.named, look.address) {
		return
	}
	hint := "take it out, and let `http_request.headers` of the configuration send it"
	if name == "url" || name == "http_request" {
		hint = "where that system takes it as a header too, let `http_request.headers` of the configuration send it"
	}
	p := n.At(source.Warning, "this looks like a secret, and whoever may see the rules or the journal can read it", hint)
	p.Text = "" // what a pipeline prints is read by more people than the file
	c.add(p)
}

// A secretLook identifies a check of one value in the role that its name gives it.
type secretLook struct {
	line, column   int
	named, address bool
}

// looksSecret reports whether a text looks like a secret. It would rather miss one than be wrong.
func looksSecret(text string, named, address bool) bool {
	segments, _ := splitTemplate(text)
	for _, s := range segments {
		if s.expression {
			continue
		}
		if SecretForms.MatchString(s.text) {
			return true
		}
		if m := authScheme.FindStringSubmatch(s.text); m != nil && looksRandom(m[1], 16) {
			return true
		}
		if m := secretQuery.FindStringSubmatch(s.text); address && m != nil && looksRandom(m[1], 8) {
			return true
		}
		if named && looksRandom(s.text, 8) {
			return true
		}
		if address && len(pathParts(s.text)) > 0 {
			return true
		}
	}
	return false
}

// looksRandom reports whether a text is one long word with both letters and digits in it, and no address.
func looksRandom(s string, least int) bool {
	return len(s) >= least && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.Contains(s, "://") &&
		strings.ContainsFunc(s, unicode.IsDigit) && strings.ContainsFunc(s, unicode.IsLetter)
}
