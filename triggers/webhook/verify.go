package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// scratch has the buffers for verifying one delivery. It is pooled, and no part of it is used after
// release.
type scratch struct {
	signed []byte     // the signed bytes: the timestamp, a dot and the body; of a large body, its beginning
	head   int        // how many of these come before the body
	more   [][]byte   // the rest of a large body, in pooled pieces
	macs   []keyedMAC // for the secrets that were tried last
	sum    []byte
}

// A keyedMAC signs with a secret.
type keyedMAC struct {
	hash.Hash
	secret service.Secret
}

const (
	// maxScratch is how much memory is kept for the next delivery: most need a few KiB.
	maxScratch = smallBody + 1<<10
	// firstRoom is the first reservation for a body without a Content-Length.
	firstRoom = 4 << 10
	// pieceSize is the size of the pieces of a large body.
	pieceSize = 64 << 10
)

// pieces pools the pieces of large bodies. Without the pool, a sender of large bodies that are
// refused would keep the garbage collector busy.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// release returns a scratch to the pool.
func (r *Receiver) release(d *scratch) {
	for i, piece := range d.more {
		pieces.Put((*[pieceSize]byte)(piece[:pieceSize]))
		d.more[i] = nil
	}
	d.more = d.more[:0]
	if cap(d.signed) <= maxScratch {
		r.scratches.Put(d)
	}
}

// body returns the body that was read.
func (d *scratch) body() []byte {
	if len(d.more) == 0 {
		return d.signed[d.head:]
	}
	return slices.Concat(append([][]byte{d.signed[d.head:]}, d.more...)...)
}

// read reads the signed bytes, with a body of the given length; -1 if it is unknown. It calls
// reserve before it reads more of the body than it has room for.
func (d *scratch) read(timestamp string, body io.Reader, length int64, reserve func(n int) bool) error {
	room := firstRoom
	if length >= 0 {
		room = min(int(length), smallBody)
	}
	if !reserve(requestCost + room) {
		return errCrowded
	}
	d.head = len(timestamp) + 1
	d.signed = append(append(d.signed[:0], timestamp...), '.')
	for {
		part, limit := &d.signed, d.head+room+1 // one byte more, so that the end is seen without more room
		if n := len(d.more); n > 0 {
			part, limit = &d.more[n-1], pieceSize
		}
		switch {
		case len(*part) < limit:
		case room < smallBody:
			more := min(max(room, firstRoom), smallBody-room)
			if !reserve(more) {
				return errCrowded
			}
			room += more
			continue
		default:
			if !reserve(pieceSize) {
				return errCrowded
			}
			d.more = append(d.more, pieces.Get().(*[pieceSize]byte)[:0])
			continue
		}
		if cap(*part) < limit {
			*part = append(make([]byte, 0, limit), *part...)
		}
		n, err := body.Read((*part)[len(*part):limit])
		*part = (*part)[:len(*part)+n]
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// sign returns the signature by the i-th secret. It is valid until the next call.
func (d *scratch) sign(i int, secret service.Secret) []byte {
	if i == len(d.macs) {
		d.macs = append(d.macs, keyedMAC{})
	}
	mac := &d.macs[i]
	if mac.Hash == nil || mac.secret != secret {
		*mac = keyedMAC{hmac.New(sha256.New, []byte(secret)), secret}
	}
	mac.Reset()
	mac.Write(d.signed)
	for _, piece := range d.more {
		mac.Write(piece)
	}
	d.sum = mac.Sum(d.sum[:0])
	return d.sum
}

// A claim is what the head of a delivery says about its signature.
type claim struct {
	timestamp string
	at        time.Time
	signature []byte
}

// claim reads the head of a delivery, and refuses what is wrong whatever the body is.
func (r *Receiver) claim(req *http.Request) (c claim, outcome Outcome, err error) {
	timestamp, signature := req.Header.Get(r.headers.timestamp), req.Header.Get(r.headers.signature)
	if timestamp == "" || signature == "" {
		return c, Unsigned, fmt.Errorf("the headers %s and %s are needed", r.headers.timestamp, r.headers.signature)
	}
	given, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	if err != nil || len(given) != sha256.Size || !strings.HasPrefix(signature, "sha256=") || strings.ToLower(signature) != signature {
		return c, Forged, errors.New("the signature is not of the form sha256=<hex>")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return c, Unsigned, fmt.Errorf("the timestamp %.200q is not Unix time in seconds", timestamp)
	}
	at := time.Unix(seconds, 0)
	switch age := r.options.Now().Sub(at); {
	case age > MaxAge:
		return c, Stale, fmt.Errorf("the timestamp is %s old", age.Round(time.Second))
	case age < -MaxAge:
		return c, Early, fmt.Errorf("the timestamp is %s ahead; is this machine's clock right?", (-age).Round(time.Second))
	case req.ContentLength > maxBody:
		return c, TooLarge, fmt.Errorf("the body has %d bytes", req.ContentLength)
	}
	return claim{timestamp, at, given}, "", nil
}

// verify decides whether a delivery comes from the service. The signature covers the timestamp and
// the raw bytes.
func (r *Receiver) verify(c claim, d *scratch, secrets []service.Secret) (Outcome, error) {
	if len(secrets) == 0 {
		return NoSecret, errors.New("no signing secret is known: either service.webhook.secrets has one, or with service.webhook.public_url the webhook is looked after")
	}
	// Try every secret, also after one matches, so that the time taken reveals nothing.
	genuine := false
	for i, secret := range secrets {
		if hmac.Equal(c.signature, d.sign(i, secret)) && secret != "" {
			genuine = true
		}
	}
	if !genuine {
		return Forged, errors.New("the signature fits none of the configured secrets")
	}
	return "", nil
}

// checkHeaders returns an error if headers differ from the body. The body counts, because only the
// body is signed.
func (r *Receiver) checkHeaders(h http.Header, id, typ string) error {
	if v := h.Get(r.headers.id); v != "" && plain.FoldUUID(v) != id {
		return fmt.Errorf("%s says %.200q and the body %q", r.headers.id, v, id)
	}
	if v := h.Get(r.headers.event); v != "" && v != typ {
		return fmt.Errorf("%s says %.200q and the body %q", r.headers.event, v, typ)
	}
	return nil
}
