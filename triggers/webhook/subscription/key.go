package subscription

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/quandohq/quando/service"
)

const keySize = 32 // of AES-256

// A Key seals secrets for the journal.
type Key struct {
	id   string // identifies the key without revealing it
	aead cipher.AEAD
}

func newKey(raw []byte) (*Key, error) {
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("id of a key of quando\x00"), raw...))
	return &Key{id: hex.EncodeToString(sum[:6]), aead: aead}, nil
}

// ParseKey reads a key: 32 bytes in base64 or in hex.
func ParseKey(text service.Secret) (*Key, error) {
	s := strings.TrimSpace(string(text))
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if raw, err := decode(s); err == nil && len(raw) == keySize {
			return newKey(raw)
		}
	}
	return nil, errors.New("a key is 32 bytes in base64 or in hex; openssl rand -base64 32 makes one")
}

// seal encrypts a secret. It can be opened only for the same purpose.
func (k *Key) seal(secret service.Secret, purpose string) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return k.aead.Seal(nonce, nonce, []byte(secret), []byte(purpose))
}

// open decrypts what seal gave.
func (k *Key) open(sealed []byte, purpose string) (service.Secret, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return "", errors.New("the sealed secret is cut off")
	}
	plain, err := k.aead.Open(nil, sealed[:n], sealed[n:], []byte(purpose))
	if err != nil {
		return "", errors.New("the sealed secret was changed")
	}
	return service.Secret(plain), nil
}

// Keys returns the key. With create it makes one if there is none.
type Keys func(create bool) (*Key, error)

// FixedKey returns a key that is managed elsewhere.
func FixedKey(k *Key) Keys { return func(bool) (*Key, error) { return k, nil } }

// errNoKey means that there is no key and that none was to be made.
var errNoKey = errors.New("there is no key")

// KeyFile returns the key in a file that only its owner can read. It creates the file on first use.
func KeyFile(path string) Keys {
	return func(create bool) (*Key, error) {
		k, err := readKey(path)
		if errors.Is(err, fs.ErrNotExist) {
			if !create {
				return nil, fmt.Errorf("the key file %s is missing: %w", path, errNoKey)
			}
			if err := makeKey(path); err != nil {
				return nil, fmt.Errorf("make the key file %s: %w; set QUANDO_SECRET_KEY, or secret_key_file to a place that can be written to", path, err)
			}
			k, err = readKey(path)
		}
		return k, err
	}
}

func readKey(path string) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the key file %s can be read by others (%s); chmod 600 %s, and if somebody else may have read it, delete it and run quando webhook rotate", path, info.Mode().Perm(), path)
	}
	text := make([]byte, 200)
	n, _ := f.Read(text)
	k, err := ParseKey(service.Secret(text[:n]))
	if err != nil {
		return nil, fmt.Errorf("the key file %s: %w", path, err)
	}
	return k, nil
}

// makeKey creates a key file, unless another process has. The file appears atomically: a truncated
// key would be useless.
func makeKey(path string) error {
	raw := make([]byte, keySize)
	_, _ = rand.Read(raw)                                                     // it never fails
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // which is for its owner alone
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(raw) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces an existing file.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a new file name survive a power failure: what is sealed with a lost key is lost.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
