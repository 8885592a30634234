// The browser of the measurements.
import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

export function findBrowser(): string | undefined {
  return NAMES.map((name) => spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()).find(
    (path) => path !== '',
  );
}

export function openBrowser(): Promise<Browser> {
  // It loads pages of this machine only, and containers have no user namespaces for the sandbox.
  return chromium.launch({
    executablePath: findBrowser() ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: 60_000,
  });
}
