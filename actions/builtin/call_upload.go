package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// callUpload is POST /media. A repeat is harmless: it leaves a file that nobody sends.
const callUpload = "upload"

type uploadCall struct{ *desk }

type uploadRequest struct {
	File string `json:"file"` // in the media folder; its content is read when it is uploaded
}

type uploadAnswer struct {
	MediaID string `json:"media_id"`
}

// planMedia finds the id of the file that a message is to carry, or plans its upload.
func (d *desk) planMedia(s *actions.Step) (id string, next actions.Next, err error) {
	media := args(s.Args).text("media")
	if media == "" || isUUID(media) {
		return media, next, nil
	}
	if r, ok := s.Receipt(callUpload); ok {
		answer, err := recorded[uploadAnswer](r.Answer)
		return answer.MediaID, next, err
	}
	f, _, err := d.open(media)
	if err != nil {
		return "", next, err
	}
	_ = f.Close() // nothing was read
	next, err = intend(s, callUpload, actions.Intent{}, uploadRequest{File: media}, nil)
	return "", next, err
}

// open opens a file of the media folder, and tells its size. Paths that lead out of the folder are no files of it.
func (d *desk) open(name string) (fs.File, int64, error) {
	if d.media == nil {
		return nil, 0, actions.Permanent(fmt.Errorf("media: there is no folder for %q; put it into media/ beside the rules", name))
	}
	missing := actions.Permanent(fmt.Errorf("media: the folder media/ has no file %q", name))
	f, err := d.media.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, 0, missing
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, info.Size(), nil
	}
	_ = f.Close() // nothing was read
	if err == nil {
		err = missing
	}
	return nil, 0, err
}

func (c uploadCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := recorded[uploadRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	f, size, err := c.open(in.File)
	if err != nil {
		return actions.Receipt{}, err
	}
	defer func() { _ = f.Close() }()
	m, err := c.UploadMedia(ctx, service.File{Name: path.Base(in.File), Size: size, Content: f})
	if err != nil {
		return actions.Receipt{}, err
	}
	return receipt(uploadAnswer{MediaID: m.ID}), nil
}

func (uploadCall) settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return repeat()
}
