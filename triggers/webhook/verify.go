package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// A desktop is the memory that a delivery is received in. It is used for one after another, and nothing of it is handed on.
type desktop struct {
	signed bytes.Buffer // what the signature is over: the timestamp, a dot and the body
	macs   []keyed      // of the secrets that were tried last
	sum    []byte
}

// A keyed is what signs with a secret.
type keyed struct {
	hash.Hash
	secret service.Secret
}

// maxDesktop is how much memory is kept for the next delivery: most need a few KiB.
const maxDesktop = 64 << 10

// clean gives a desktop back.
func (r *Receiver) clean(d *desktop) {
	if d.signed.Cap() <= maxDesktop {
		r.desktops.Put(d)
	}
}

// read takes in what is signed, and returns the body.
func (d *desktop) read(timestamp string, body io.Reader) ([]byte, error) {
	d.signed.Reset()
	d.signed.WriteString(timestamp)
	d.signed.WriteByte('.')
	if _, err := d.signed.ReadFrom(body); err != nil {
		return nil, err
	}
	return d.signed.Bytes()[len(timestamp)+1:], nil
}

// sign returns what a secret, one of several, makes of what is signed. It is good until the next.
func (d *desktop) sign(i int, secret service.Secret) []byte {
	if i == len(d.macs) {
		d.macs = append(d.macs, keyed{})
	}
	mac := &d.macs[i]
	if mac.Hash == nil || mac.secret != secret {
		*mac = keyed{hmac.New(sha256.New, []byte(secret)), secret}
	}
	mac.Reset()
	mac.Write(d.signed.Bytes())
	d.sum = mac.Sum(d.sum[:0])
	return d.sum
}

// verify decides whether a delivery comes from the service. The signature is over the timestamp and the raw bytes.
func (r *Receiver) verify(h http.Header, d *desktop, secrets []service.Secret) (Outcome, error) {
	if len(secrets) == 0 {
		return NoSecret, errors.New("no signing secret is known: either service.webhook.secrets has one, or with service.webhook.public_url the webhook is looked after")
	}
	timestamp, signature := h.Get(r.headers.timestamp), h.Get(r.headers.signature)
	if timestamp == "" || signature == "" {
		return Unsigned, fmt.Errorf("the headers %s and %s are needed", r.headers.timestamp, r.headers.signature)
	}
	given, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	if err != nil || !strings.HasPrefix(signature, "sha256=") || strings.ToLower(signature) != signature {
		return Forged, errors.New("the signature is not of the form sha256=<hex>")
	}
	// Every secret is tried, also after one fits: the time that it takes tells nothing.
	genuine := false
	for i, secret := range secrets {
		if hmac.Equal(given, d.sign(i, secret)) && secret != "" {
			genuine = true
		}
	}
	if !genuine {
		return Forged, errors.New("the signature fits none of the configured secrets")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return Unsigned, fmt.Errorf("the timestamp %q is not Unix time in seconds", timestamp)
	}
	switch age := r.options.Now().Sub(time.Unix(seconds, 0)); {
	case age > maxAge:
		return Stale, fmt.Errorf("the signature is %s old", age.Round(time.Second))
	case age < -maxAge:
		return Early, fmt.Errorf("the signature is from %s ahead; is this machine's clock right?", (-age).Round(time.Second))
	}
	return "", nil
}

// agrees reports headers that say something else than the body. The body counts, because only the body is signed.
func (r *Receiver) agrees(h http.Header, id, typ string) error {
	if v := h.Get(r.headers.id); v != "" && plain.FoldUUID(v) != id {
		return fmt.Errorf("%s says %.200q and the body %q", r.headers.id, v, id)
	}
	if v := h.Get(r.headers.event); v != "" && v != typ {
		return fmt.Errorf("%s says %.200q and the body %q", r.headers.event, v, typ)
	}
	return nil
}
