//go:build unix

package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
)

func TestPipeWithoutAWriterIsRefusedAtOnce(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "c.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := config.Load(pipe); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
		t.Errorf("got %v, want it refused", err)
	}
}
