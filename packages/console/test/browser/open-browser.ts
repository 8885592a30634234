// Opens pages of the console in Debian's chromium. The browser is a peer: npm run setup:real -- browser
import { spawnSync } from 'node:child_process';
import axe from 'axe-core';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PROGRAM = ['chromium', 'chromium-browser', 'google-chrome']
  .map((name) => spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim())
  .find((path) => path !== '');

/** The reason to skip a test, or false. */
export const withoutBrowser = PROGRAM === undefined ? 'chromium is not there: npm run setup:real -- browser' : false;

/** How long a busy machine may take for one step. */
export const PATIENCE = 60_000;

export function openBrowser(): Promise<Browser> {
  // The tests load pages of this machine only, and containers have no user namespaces for the sandbox.
  return chromium.launch({
    executablePath: PROGRAM ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: PATIENCE,
  });
}

export interface OpenedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts and reports of the content security policy. */
  readonly complaints: readonly string[];
}

/** Opens the address with a token, as a page that has exchanged its code. */
export async function openPage(
  browser: Browser,
  url: string,
  token: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  await context.addInitScript(`localStorage.setItem('capstan.token', ${JSON.stringify(token)})`);
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.goto(url);
  return { page, context, complaints };
}

/** Answers with a status of 400 or more are part of some tests; they are no complaints. */
export function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text()))
      complaints.push(message.text());
  });
  return complaints;
}

/** The violations that axe finds, one sentence each. */
export async function violationsOf(page: Page): Promise<string[]> {
  // The protocol evaluates text itself, so that the policy of the page allows it.
  await page.evaluate(axe.source);
  const tags = JSON.stringify(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']);
  const found = await page.evaluate(`axe.run(document, { runOnly: ${tags} }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary.slice(0, 200)).join(' | ')))`);
  return found as string[];
}

/** How many pixels the document is wider than the window. */
export async function overflowOf(page: Page): Promise<number> {
  return (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
}

/** Waits until the page is connected to the stream of events. */
export async function waitForStream(page: Page): Promise<void> {
  await page.locator('.live', { hasText: 'Live' }).waitFor();
}
