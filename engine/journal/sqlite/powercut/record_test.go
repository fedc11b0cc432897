//go:build linux && cgo

package powercut

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
)

// An entry is one operation on a file, or, of kind acknowledged, what the journal had acknowledged
// by then.
type entry struct {
	kind  byte
	name  string // of the file
	inode uint64
	at    uint64 // an offset, a length, or the number of a sync
	data  []byte
}

// The kinds of entries, as testdata/record.c writes them.
const (
	opened       = 'o'
	written      = 'w'
	truncated    = 't'
	syncBegun    = 's'
	syncEnded    = 'S'
	unlinked     = 'u'
	renamed      = 'r'
	acknowledged = 'a'
)

const headSize = 32

// bytes returns the encoding of an entry in a record.
func (e entry) bytes() []byte {
	b := make([]byte, 0, headSize+len(e.name)+len(e.data))
	b = binary.NativeEndian.AppendUint32(b, uint32(e.kind))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(e.name)))
	for _, n := range []uint64{e.inode, e.at, uint64(len(e.data))} {
		b = binary.NativeEndian.AppendUint64(b, n)
	}
	return append(append(b, e.name...), e.data...)
}

// readRecord reads a record. It leaves out files that need not be durable: the index of the log,
// which lives in shared memory, and the engine's lock.
func readRecord(path string) (list []entry, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for len(b) >= headSize {
		name, data := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint64(b[24:])
		end := headSize + int(name) + int(data)
		if len(b) < end {
			return nil, fmt.Errorf("the record ends within an entry of %d bytes", end)
		}
		e := entry{kind: b[0], inode: binary.NativeEndian.Uint64(b[8:]), at: binary.NativeEndian.Uint64(b[16:])}
		e.name, e.data = string(b[headSize:headSize+name]), b[headSize+name:end]
		if b = b[end:]; !passing(e.name) {
			list = append(list, e)
		}
	}
	return list, nil
}

func passing(name string) bool {
	return strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, ".lock")
}
