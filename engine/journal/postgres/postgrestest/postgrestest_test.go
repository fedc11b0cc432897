package postgrestest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv("SERVER_TO_LEAVE") != "" {
		s, err := Start(false)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(s.Folder)
		select {}
	}
	os.Exit(m.Run())
}

// TestEndsWithItsProcess kills a process that has started a server.
func TestEndsWithItsProcess(t *testing.T) {
	Needs(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SERVER_TO_LEAVE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("no server was started")
	}
	folder := lines.Text()
	if _, err := os.Stat(folder); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", folder)
		}
	}
}
