package sandbox_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quandohq/quando/service/sandbox"
)

const many = 100_000

// crowded returns a sandbox in which that many customers have written, each
// with a contact, a conversation, a message, an attendance and a card.
func crowded(tb testing.TB, customers int) (*sandbox.Sandbox, []string) {
	tb.Helper()
	s, err := sandbox.New(sandbox.Options{Seed: 1, Frozen: friday})
	if err != nil {
		tb.Fatal(err)
	}
	ids := make([]string, customers)
	for i := range customers {
		w, err := s.CustomerMessage(sandbox.CustomerMessage{
			Phone: fmt.Sprintf("+55119%08d", i), Name: "Customer " + strconv.Itoa(i), Text: "Hello, I have a question about my order " + strconv.Itoa(i),
		})
		if err != nil {
			tb.Fatal(err)
		}
		ids[i] = w.Conversation.String()
	}
	return s, ids
}

// TestHolds100000Conversations shows what they cost in memory, and that they are listed.
func TestHolds100000Conversations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	s, ids := crowded(t, many)
	defer s.Close()
	used := heap() - before
	t.Logf("%d conversations: %d MiB, %d bytes each", many, used>>20, used/many)
	if used > 250<<20 { // half of what a process may have, since a collector needs room
		t.Errorf("they take %d MiB", used>>20)
	}
	for _, query := range []string{"?limit=100", "?limit=100&offset=99900", "?assignee=none&limit=30", "?q=order+99999", "?unread=true"} {
		r := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/conversations"+query, nil)
		request.Header.Set("Authorization", "Bearer "+s.APIKey())
		s.Handler().ServeHTTP(r, request)
		if r.Code != 200 || !strings.Contains(r.Body.String(), `"id"`) {
			t.Errorf("%s: %d %s", query, r.Code, r.Body)
		}
	}
	runtime.KeepAlive(ids)
}

// TestServesManyAtOnce lets 16 callers do what engines do: each is answered. How many requests a
// second are served is what BenchmarkRequests measures.
func TestServesManyAtOnce(t *testing.T) {
	s, ids := crowded(t, 1000)
	defer s.Close()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var done atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 100 {
				n := done.Add(1)
				if status := call(client, server.URL, s.APIKey(), ids, int(n)); status > 299 {
					t.Errorf("status %d", status)
				}
			}
		})
	}
	callers.Wait()
	want := done.Load() / 3 // each third request sends a message
	if sent := int64(len(s.Effects())); sent != want {
		t.Errorf("%d messages were sent, want %d", sent, want)
	}
}

// call does what an engine does: it sends a message, reads the conversation,
// reads a list.
func call(client *http.Client, url, key string, ids []string, n int) int {
	id := ids[n%len(ids)]
	var request *http.Request
	switch n % 3 {
	case 0:
		body := fmt.Sprintf(`{"client_id":"%s","text":"Thank you for your message"}`, uuid(n))
		request, _ = http.NewRequest(http.MethodPost, url+"/conversations/"+id+"/messages", bytes.NewReader([]byte(body)))
	case 1:
		request, _ = http.NewRequest(http.MethodGet, url+"/conversations/"+id, nil)
	default:
		request, _ = http.NewRequest(http.MethodGet, url+"/conversations/"+id+"/messages?limit=5", nil)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := client.Do(request)
	if err != nil {
		return 599
	}
	defer response.Body.Close()
	var discard bytes.Buffer
	_, _ = discard.ReadFrom(response.Body)
	return response.StatusCode
}

// BenchmarkRequests goes through real HTTP, with 100,000 conversations.
func BenchmarkRequests(b *testing.B) {
	s, ids := crowded(b, many)
	defer s.Close()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var n atomic.Int64
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			call(client, server.URL, s.APIKey(), ids, int(n.Add(1)))
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkHandler leaves the network out.
func BenchmarkHandler(b *testing.B) {
	s, ids := crowded(b, many)
	defer s.Close()
	key := "Bearer " + s.APIKey()
	for name, target := range map[string]string{
		"conversation": "/conversations/" + ids[7], "list": "/conversations?limit=30", "last page": "/conversations?limit=30&offset=99900",
		"search": "/conversations?q=order+500", "cards by phone": "/kanban/cards?q=%2B5511900000500", "assignee": "/conversations?assignee=none&archived=false",
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				request := httptest.NewRequest(http.MethodGet, target, nil)
				request.Header.Set("Authorization", key)
				s.Handler().ServeHTTP(httptest.NewRecorder(), request)
			}
		})
	}
}

// BenchmarkState writes and reads the state of 10,000 conversations.
func BenchmarkState(b *testing.B) {
	s, _ := crowded(b, 10_000)
	defer s.Close()
	for b.Loop() {
		if err := s.SetState(s.State()); err != nil {
			b.Fatal(err)
		}
	}
}
