package config

import (
	"io"
	"log/slog"
	"strings"

	"github.com/quandohq/quando/rules/redact"
)

// NewLogger returns a logger according to the configuration.
func (c *Config) NewLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // the configuration has been checked
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: hiddenAttr}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// hiddenAttr takes credentials in addresses out of what is logged.
func hiddenAttr(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	}
	if strings.Contains(text, "://") {
		a.Value = slog.StringValue(redact.Text(text))
	}
	return a
}
