package alerts

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/quandohq/quando/service"
)

// A Webhook tells another system. It signs as the messaging service does: HMAC-SHA256 over the
// time, a dot and the body. A repeat has the same id, by which the receiver discards it.
type Webhook struct {
	URL    string
	Secret service.Secret
}

// answerTime is how long the receiver may take, as with the service's own webhooks.
const answerTime = 8 * time.Second

// receivers is the client for webhooks. It follows no redirect: what is signed for one address is
// not for another.
var receivers = &http.Client{
	Timeout:       answerTime,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Name names the host: the rest of the address may be a secret.
func (w *Webhook) Name() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "webhook"
	}
	return u.Host
}

// Send posts the message.
func (w *Webhook) Send(ctx context.Context, m Message) (same bool, err error) {
	body, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(w.Secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Quando-Event", string(m.Kind))
	r.Header.Set("X-Quando-Event-Id", m.ID)
	r.Header.Set("X-Quando-Timestamp", at)
	r.Header.Set("X-Quando-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := receivers.Do(r)
	if err != nil {
		return false, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return false, fmt.Errorf("the receiver answered %s", answer.Status)
	}
	return true, nil
}
