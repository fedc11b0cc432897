package sandbox

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func mediaOperations() []*operation {
	return []*operation{
		uploading("POST /media", "media:write", http.StatusCreated, (*Sandbox).uploadMedia),
		read("GET /media/{id}/url", "messages:read", (*Sandbox).mediaURL),
	}
}

// linkLasts is how long a download link works; the reference says only that
// it is temporary.
const linkLasts = time.Hour

func (s *Sandbox) uploadMedia(c *call) (any, error) {
	kind, params, err := mime.ParseMediaType(c.http.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, store.Invalid("the upload must be multipart/form-data with the field file")
	}
	parts := multipart.NewReader(bytes.NewReader(c.body), params["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, store.Invalid("the field file is required")
		}
		if err != nil {
			return nil, store.Invalid("the upload could not be read: %v", err)
		}
		if part.FormName() != "file" {
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, store.Invalid("the upload could not be read: %v", err)
		}
		contentType := part.Header.Get("Content-Type")
		if contentType == "" {
			contentType = "application/octet-stream"
		}
		m := &Media{ID: s.ids.ID(), Name: part.FileName(), ContentType: contentType,
			Size: len(content), CreatedAt: s.now(), Content: content}
		s.store.Media[m.ID] = m
		s.effect(c, m.ID, "media", nil, encode(m), "")
		return m, nil
	}
}

// contentTypes are the types of files that people send, by the ending of their names. Any other
// file is a document of an unknown type.
var contentTypes = map[string]string{
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".gif": "image/gif", ".webp": "image/webp", ".heic": "image/heic",
	".ogg": "audio/ogg", ".opus": "audio/ogg", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".amr": "audio/amr", ".wav": "audio/wav",
	".mp4": "video/mp4", ".mov": "video/quicktime", ".3gp": "video/3gpp", ".webm": "video/webm",
	".pdf": "application/pdf", ".txt": "text/plain", ".csv": "text/csv", ".zip": "application/zip", ".xml": "application/xml",
	".doc": "application/msword", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xls": "application/vnd.ms-excel", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// checkFile refuses the name of a file that a person sends if its type cannot be known. No name is
// no file.
func checkFile(name string) error {
	if name != "" && len(path.Ext(name)) < 2 {
		return store.Invalid("file: %q has no ending, so its type is unknown: write it as in photo.jpg", name)
	}
	return nil
}

// attach keeps the file of a message that a person sends in the app or on the phone, and returns
// its id; no name is no file. Its content is made up.
func (s *Sandbox) attach(name string) ID {
	if name == "" {
		return ID{}
	}
	contentType := contentTypes[strings.ToLower(path.Ext(name))]
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	content := []byte("the content of " + name)
	m := &Media{ID: s.ids.ID(), Name: name, ContentType: contentType, Size: len(content), CreatedAt: s.now(), Content: content}
	s.store.Media[m.ID] = m
	return m.ID
}

// mediaURL gives a link that works without the key, for a while.
func (s *Sandbox) mediaURL(c *call) (any, error) {
	if s.store.Media[c.id] == nil {
		return nil, store.NotFound("media", c.id)
	}
	scheme := "http"
	if c.http.TLS != nil {
		scheme = "https"
	}
	// The prefix that is stripped from the path is where the API is mounted.
	asked, _, _ := strings.Cut(c.http.RequestURI, "?")
	prefix := strings.TrimSuffix(asked, c.http.URL.Path)
	expires := s.now().Add(linkLasts)
	return struct {
		URL       string  `json:"url"`
		ExpiresAt Instant `json:"expires_at"`
	}{
		fmt.Sprintf("%s://%s%s/media/%v/content?expires=%d&signature=%s",
			scheme, c.http.Host, prefix, c.id, expires, s.linkSignature(c.id, expires)),
		expires,
	}, nil
}

func (s *Sandbox) linkSignature(id ID, expires Instant) string {
	mac := hmac.New(sha256.New, s.link)
	mac.Write(fmt.Appendf(nil, "%v.%d", id, expires))
	return hex.EncodeToString(mac.Sum(nil))
}

// downloadMedia serves a link made by mediaURL.
func (s *Sandbox) downloadMedia(w http.ResponseWriter, r *http.Request) {
	id, _ := ParseID(r.PathValue("id"))
	ms, _ := strconv.ParseInt(r.URL.Query().Get("expires"), 10, 64)
	s.mu.RLock()
	m, now := s.store.Media[id], s.now()
	s.mu.RUnlock()
	right := hmac.Equal([]byte(r.URL.Query().Get("signature")), []byte(s.linkSignature(id, Instant(ms))))
	if m == nil || !right || now >= Instant(ms) {
		write(w, refuse(store.NotFound("such link", "(it works for an hour)")))
		return
	}
	w.Header().Set("Content-Type", m.ContentType)
	http.ServeContent(w, r, m.Name, m.CreatedAt.Time(), bytes.NewReader(m.Content))
}
