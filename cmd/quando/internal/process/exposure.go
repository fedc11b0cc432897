package process

import (
	"context"
	"crypto/rand"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

// tellExposed warns when others may read the journal, which holds what customers wrote.
func tellExposed(where string, log *slog.Logger) {
	if files, _ := storage.ExposedFiles(where); len(files) > 0 {
		log.Warn("others may read the journal", "files", files, "mend", storage.ExposedFix(files))
	}
}

// tellExposedSecrets warns when others may read the environment file beside the configuration.
func tellExposedSecrets(c *config.Config, log *slog.Logger) {
	if files, _ := storage.ExposedFiles(c.Path(config.EnvironmentFile)); len(files) > 0 {
		log.Warn("others may read the secrets of the environment file", "files", files, "mend", storage.ExposedFix(files))
	}
}

// unknownWorkspaceHandler answers deliveries for workspaces that do not exist exactly as a receiver
// with an unknown secret does, so that strangers cannot list the workspaces. It logs at most once a
// minute, because the address may be a slip.
func unknownWorkspaceHandler(profile *service.Profile, bodies *webhook.Bodies, log *slog.Logger) (http.Handler, error) {
	secret := service.Secret(rand.Text())
	receiver, err := webhook.New(webhook.Options{
		Profile: profile, Bodies: bodies, Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} },
		Sink: func(context.Context, ...rules.Event) ([]bool, error) { return nil, fs.ErrPermission }, // no delivery gets here: the secret is random
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var told time.Time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		due := time.Since(told) >= time.Minute
		if due {
			told = time.Now()
		}
		mu.Unlock()
		if due {
			log.Warn("a delivery came for a workspace that is not there", "path", cli.Truncate(r.URL.Path, 100))
		}
		receiver.ServeHTTP(w, r)
	}), nil
}
