package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// chromium is the one browser of the process.
var chromium struct {
	sync.Once
	ctx   context.Context
	close func()
	err   error
}

// program finds the browser. The headless one needs half the processor time: it has no
// window with pages of its own.
func program() (string, error) {
	if path := os.Getenv("PUNCTUAL_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no chromium; install Debian's package chromium-headless-shell, or run make test, which does so as root, or set PUNCTUAL_CHROMIUM")
}

func start() {
	path, err := program()
	if err != nil {
		chromium.err = err
		return
	}
	dir, err := os.MkdirTemp("", "punctual-chromium-")
	if err != nil {
		chromium.err = err
		return
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("no-default-browser-check", true),
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := chromedp.NewContext(allocator)
	chromium.ctx = ctx
	chromium.close = func() {
		cancel()
		stop()
		_ = os.RemoveAll(dir) // leftovers in the temporary directory do no harm
	}
	chromium.err = chromedp.Do(ctx)
}

// browserContext returns the running browser.
func browserContext(t testing.TB) context.Context {
	t.Helper()
	chromium.Do(start)
	if chromium.err != nil {
		t.Fatalf("starting chromium: %v", chromium.err)
	}
	return chromium.ctx
}

// Close ends the browser, after the last test.
func Close() {
	if chromium.close != nil {
		chromium.close()
	}
}
