package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"path"
	"time"
)

var (
	opUploadMedia = Operation{"POST", "/media", "media:write"}
	opMediaURL    = Operation{"GET", "/media/{id}/url", "messages:read"}
)

var mediaOperations = []Operation{opUploadMedia, opMediaURL}

// Media is an uploaded file.
type Media struct {
	ID          string // the media_id of a message
	Name        string
	ContentType string
	Size        int64
	CreatedAt   time.Time
	Raw         map[string]any
}

// DecodeMedia reads a file's description through the profile.
func DecodeMedia(raw map[string]any, p *Profile) Media {
	f, n := fields(raw), &p.Media
	return Media{ID: f.id(n.ID), Name: f.str(n.Name), ContentType: f.str(n.ContentType), Size: int64(f.int(n.Size)), CreatedAt: f.time(n.CreatedAt), Raw: raw}
}

// MediaLink is a temporary address of a file.
type MediaLink struct {
	URL       string
	ExpiresAt *time.Time
	Raw       map[string]any
}

// DecodeMediaLink reads a download link through the profile.
func DecodeMediaLink(raw map[string]any, p *Profile) MediaLink {
	f := fields(raw)
	return MediaLink{URL: f.str(p.Media.URL), ExpiresAt: f.optTime(p.Media.ExpiresAt), Raw: raw}
}

// File is a file to upload. It is streamed, never held in memory.
type File struct {
	Name        string
	ContentType string // guessed from the name when empty
	Size        int64  // 0 when unknown
	Content     io.Reader
}

// upload is a multipart body: header, content, trailer.
type upload struct {
	contentType string
	length      int64
	body        io.Reader
}

func newUpload(f File) (*upload, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition("file", f.Name))
	h.Set("Content-Type", f.ContentType)
	if _, err := w.CreatePart(h); err != nil {
		return nil, err
	}
	head := bytes.Clone(b.Bytes())
	b.Reset()
	if err := w.Close(); err != nil {
		return nil, err
	}
	u := &upload{contentType: w.FormDataContentType(), length: -1, body: io.MultiReader(bytes.NewReader(head), f.Content, &b)}
	if f.Size > 0 {
		u.length = int64(len(head)) + f.Size + int64(b.Len())
	}
	return u, nil
}

// UploadMedia uploads a file and returns the id to send it with. A repeat is harmless: it leaves an
// unused file.
func (c *Client) UploadMedia(ctx context.Context, f File) (Media, error) {
	o := opUploadMedia
	if f.Content == nil {
		return Media{}, invalid(o, "there is no content to upload")
	}
	if f.Name == "" {
		f.Name = "file"
	}
	if f.ContentType == "" {
		f.ContentType = mime.TypeByExtension(path.Ext(f.Name))
	}
	if f.ContentType == "" {
		f.ContentType = "application/octet-stream"
	}
	u, err := newUpload(f)
	if err != nil {
		return Media{}, invalid(o, "the upload cannot be written: %v", err)
	}
	v, _, err := created(ctx, c, request{op: o, upload: u}, "media", c.profile.Media.ID, DecodeMedia)
	return v, err
}

// MediaURL gives a temporary download link.
func (c *Client) MediaURL(ctx context.Context, id string) (MediaLink, error) {
	r := request{op: opMediaURL, id: id}
	v, out, err := one(ctx, c, r, "media", c.profile.Media.URL, DecodeMediaLink)
	if s, ok := out.value.(string); ok {
		v.URL = s
	}
	if err == nil && v.URL == "" {
		err = &Error{Op: r.op.String(), Status: 200, Scope: r.op.Scope, Err: fmt.Errorf("the answer carries no link under any name the profile knows (media.url)")}
	}
	return v, err
}
