package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/service"
)

// verify decides whether a delivery comes from the service. The signature is over the timestamp and the raw bytes.
func (r *Receiver) verify(h http.Header, body []byte, secrets []service.Secret) (Outcome, error) {
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
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(timestamp))
		mac.Write([]byte("."))
		mac.Write(body)
		if hmac.Equal(given, mac.Sum(nil)) && secret != "" {
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
	if v := h.Get(r.headers.id); v != "" && v != id {
		return fmt.Errorf("%s says %q and the body %q", r.headers.id, v, id)
	}
	if v := h.Get(r.headers.event); v != "" && v != typ {
		return fmt.Errorf("%s says %q and the body %q", r.headers.event, v, typ)
	}
	return nil
}
