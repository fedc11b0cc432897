package front

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/quandohq/quando/service/plainhead"
)

// request reads the head of a plain request, and returns how many bytes it has.
func request(come []byte) (r *http.Request, size int, ok bool) {
	h, ok := plainhead.Read(come)
	if !ok || h.Length < 0 {
		return nil, 0, false
	}
	path, ok := target(h.First)
	if !ok {
		return nil, 0, false
	}
	r = &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: path}, RequestURI: path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 12), ContentLength: int64(h.Length),
	}
	values := make([]string, 0, 12) // shared by the names, as each has one most often
	for name, value := range h.Fields.All() {
		switch name = textproto.CanonicalMIMEHeaderKey(name); name {
		case "Host":
			if r.Host != "" || !isHost(value) {
				return nil, 0, false
			}
			r.Host = value
			continue
		case "Expect", "Trailer", "Upgrade", "Pragma":
			return nil, 0, false
		}
		if before := r.Header[name]; before != nil {
			r.Header[name] = append(before, value)
			continue
		}
		values = append(values, value)
		r.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	return r, h.Size, r.Host != ""
}

// target returns the path of a first line that asks for one, which is written in no other way.
func target(line string) (path string, ok bool) {
	path, ok = strings.CutPrefix(line, "POST ")
	if ok {
		path, ok = strings.CutSuffix(path, " HTTP/1.1")
	}
	return path, ok && strings.HasPrefix(path, "/") && !strings.Contains(path, "//") && only(path, "/-_")
}

func isHost(s string) bool { return s != "" && only(s, ".-:[]") }

// only reports whether a text has nothing but letters, digits and some others.
func only(s, others string) bool {
	for _, c := range []byte(s) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}
