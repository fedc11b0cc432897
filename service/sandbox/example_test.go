package sandbox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

func Example() {
	s, err := sandbox.New(sandbox.Options{Frozen: time.Date(2026, 11, 13, 20, 50, 0, 0, time.UTC), Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	written, err := s.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Name: "Ana Lima", Text: "hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	now, _ := s.Advance(context.Background(), 15*time.Minute)
	fmt.Println(now.Format(time.Kitchen), "attendance:", !written.Attendance.IsZero(), "effects:", len(s.Effects()))
	// Output: 9:05PM attendance: true effects: 0
}
