package store

import (
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
)

// ID is a UUID. The zero ID stands for "none" and is null in JSON.
type ID [16]byte

// ParseID reads a UUID in its usual form of 36 characters.
func ParseID(text string) (ID, error) {
	// uuid.Parse also takes braces and urn:uuid:, which the service does not.
	if len(text) != 36 {
		return ID{}, fmt.Errorf("%q is not a UUID", text)
	}
	u, err := uuid.Parse(text)
	if err != nil {
		return ID{}, fmt.Errorf("%q is not a UUID", text)
	}
	return ID(u), nil
}

func (i ID) String() string { return uuid.UUID(i).String() }

// IsZero reports whether the ID stands for "none".
func (i ID) IsZero() bool { return i == ID{} }

// MarshalJSON writes the UUID, or null for "none".
func (i ID) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	out := make([]byte, 38)
	out[0], out[37] = '"', '"'
	hex.Encode(out[1:9], i[:4])
	out[9] = '-'
	hex.Encode(out[10:14], i[4:6])
	out[14] = '-'
	hex.Encode(out[15:19], i[6:8])
	out[19] = '-'
	hex.Encode(out[20:24], i[8:10])
	out[24] = '-'
	hex.Encode(out[25:37], i[10:])
	return out, nil
}

// UnmarshalJSON reads a UUID or null.
func (i *ID) UnmarshalJSON(src []byte) error {
	if string(src) == "null" {
		*i = ID{}
		return nil
	}
	if len(src) < 2 || src[0] != '"' {
		return fmt.Errorf("%s is not a UUID", src)
	}
	parsed, err := ParseID(string(src[1 : len(src)-1]))
	if err != nil {
		return err
	}
	*i = parsed
	return nil
}

// IDs is a list of ids that is [] in JSON when empty, never null.
type IDs []ID

// MarshalJSON writes an array, also for a nil list.
func (l IDs) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for n, id := range l {
		if n > 0 {
			out = append(out, ',')
		}
		text, _ := id.MarshalJSON()
		out = append(out, text...)
	}
	return append(out, ']'), nil
}

// IDSource makes ids, keys and secrets. With a seed it makes the same ones in the same order every
// time, so that a test can be repeated exactly.
type IDSource struct{ Random *rand.Rand }

// NewIDSource returns a source; the seed 0 makes it random.
func NewIDSource(seed uint64) *IDSource {
	var key [32]byte
	if seed == 0 {
		_, _ = crand.Read(key[:]) // documented never to fail
	} else {
		binary.LittleEndian.PutUint64(key[:], seed)
	}
	return &IDSource{rand.New(rand.NewChaCha8(key))}
}

// ID returns a new UUID.
func (s *IDSource) ID() ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], s.Random.Uint64())
	binary.BigEndian.PutUint64(id[8:], s.Random.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	return id
}

// Token returns 48 hexadecimal digits after the prefix.
func (s *IDSource) Token(prefix string) string {
	var raw [24]byte
	for n := 0; n < len(raw); n += 8 {
		binary.BigEndian.PutUint64(raw[n:], s.Random.Uint64())
	}
	return prefix + hex.EncodeToString(raw[:])
}
