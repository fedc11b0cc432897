package sandbox

import (
	"go/parser"
	"go/token"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDialing proves that a name cannot lead to an address that is refused:
// what is dialed is checked, not what was written.
func TestDialing(t *testing.T) {
	receiver := httptest.NewServer(nil)
	defer receiver.Close()
	named := strings.Replace(receiver.URL, "127.0.0.1", "localhost", 1)
	for _, tt := range []struct {
		name, url string
		allow     bool
		refused   bool
	}{
		{"loopback is refused", receiver.URL, false, true},
		{"a name for loopback is refused", named, false, true},
		{"loopback when allowed", receiver.URL, true, false},
		{"cloud metadata always", "http://169.254.169.254/", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := newDeliveryClient(Options{AllowLoopback: tt.allow, DeliveryTimeout: time.Second})
			defer client.CloseIdleConnections()
			response, err := client.Get(tt.url)
			if err == nil {
				response.Body.Close()
			}
			if refused := err != nil && strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "connection refused"); refused != tt.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPhones(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"with and without the ninth digit", "+5511988887777", "+551188887777", true},
		{"however it is written", "+55 (11) 98888-7777", "5511988887777", true},
		{"without the country", "11988887777", "+5511988887777", true},
		{"another area", "+5511988887777", "+5521988887777", false},
		{"a landline stays apart", "+5511932345678", "+551132345678", false},
		{"abroad nothing is dropped", "+14155552671", "+1415552671", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := phoneKey(tt.a) == phoneKey(tt.b); got != tt.same {
				t.Errorf("%s and %s: %q, %q", tt.a, tt.b, phoneKey(tt.a), phoneKey(tt.b))
			}
		})
	}
}

// TestOrdered holds the index to a plain sorted list.
func TestOrdered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var set ordered[int]
	var plain []uint64
	for range 20_000 {
		key := uint64(random.IntN(4000) + 1)
		pos, there := slices.BinarySearch(plain, key)
		switch {
		case random.IntN(3) > 0 && !there:
			value := int(key)
			set.put(key, &value)
			plain = slices.Insert(plain, pos, key)
		case there:
			set.del(key)
			plain = slices.Delete(plain, pos, pos+1)
		}
	}
	from := uint64(2000)
	var want, got []uint64
	for _, key := range plain {
		if key < from {
			want = append([]uint64{key}, want...)
		}
	}
	for v := range set.before(from) {
		got = append(got, uint64(*v))
	}
	if diff := cmp.Diff(want, got); diff != "" || set.len() != len(plain) {
		t.Errorf("%d of %d (-want +got):\n%s", set.len(), len(plain), diff)
	}
	var oldest []uint64
	for v := range set.oldest() {
		oldest = append(oldest, uint64(*v))
	}
	if diff := cmp.Diff(plain, oldest); diff != "" {
		t.Errorf("oldest (-want +got):\n%s", diff)
	}
}

// TestImports holds the sandbox apart from the client, so that each proves the
// other.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if strings.HasPrefix(path, "github.com/quandohq/quando") && path != "github.com/quandohq/quando/service/sandbox" {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// TestOperationsAreWhole fails when an operation is listed twice or lacks a
// part.
func TestOperationsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, op := range operations() {
		if seen[op.name] || op.serve == nil || op.status == 0 || op.method() == "" || !strings.HasPrefix(op.path(), "/") {
			t.Errorf("operation %+v", op)
		}
		seen[op.name] = true
	}
}
