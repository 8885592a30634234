// The pages beside their kept pictures, pixel by pixel. A picture belongs to one version of the browser and to the fonts of the machine: with
// others the comparison is skipped. CAPSTAN_PICTURES=write keeps the present pages as the pictures; look at them before a commit.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type FixtureServer, startFixtures } from './fixture-server.ts';
import { AT, answersOf, PAGES } from './fixtures.ts';
import { openBrowser, openPage, PATIENCE, waitForStream, withoutBrowser } from './open-browser.ts';

const FOLDER = join(import.meta.dirname, 'pictures');
const CHANGED = join(import.meta.dirname, '../../../../artifacts/console/changed');
const ENVIRONMENT = join(FOLDER, 'environment.txt');
const isWriting = process.env['CAPSTAN_PICTURES'] === 'write';
/** The share of pixels that may differ. */
const TOLERANCE = 0.001;
const VIEW = { width: 1280, height: 720 };
/** Five minutes after everything in the answers. */
const NOW = new Date(Date.parse(AT) + 300_000);

describe('the pictures of the pages', { skip: withoutBrowser, timeout: 5 * PATIENCE }, () => {
  let browser: Browser;
  let server: FixtureServer;
  before(async () => {
    browser = await openBrowser();
    server = await startFixtures(answersOf({ objects: 10 }));
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  for (const colorScheme of ['light', 'dark'] as const)
    test(`are as kept in ${colorScheme}, up to a thousandth of their pixels`, async (run) => {
      const options = {
        viewport: VIEW,
        colorScheme,
        reducedMotion: 'reduce',
        timezoneId: 'UTC',
        locale: 'en-GB',
      } as const;
      const { page, context } = await openPage(browser, server.url, 'token', options);
      const environment = await environmentOf(browser, page);
      if (isWriting) {
        mkdirSync(join(FOLDER, colorScheme), { recursive: true });
        writeFileSync(ENVIRONMENT, environment);
      } else if (!existsSync(ENVIRONMENT) || readFileSync(ENVIRONMENT, 'utf8') !== environment) {
        await context.close();
        return run.skip('the pictures are of another browser or other fonts: CAPSTAN_PICTURES=write keeps new ones');
      }
      await page.clock.setFixedTime(NOW);
      const differences: string[] = [];
      for (const [path, heading] of PAGES) {
        await page.goto(server.url + path);
        await page.getByRole('heading', { name: heading }).first().waitFor();
        await waitForStream(page);
        await page.getByText('Loading', { exact: true }).waitFor({ state: 'detached' });
        if (path.startsWith('/plan')) await page.locator('.cm-content').waitFor();
        // The time that a plan took is another one each time.
        await page.evaluate(`for (const one of document.querySelectorAll('.page-head span'))
          if (/^planned in/.test(one.textContent)) one.textContent = 'planned in 9 ms'`);
        const shown = await steadyPicture(page);
        const file = `${colorScheme}/${nameOf(path)}.png`;
        if (isWriting) {
          writeFileSync(join(FOLDER, file), shown);
          continue;
        }
        const share = await differenceOf(browser, readFileSync(join(FOLDER, file)), shown);
        if (share <= TOLERANCE) continue;
        mkdirSync(join(CHANGED, colorScheme), { recursive: true });
        writeFileSync(join(CHANGED, file), shown);
        differences.push(
          `${file}: ${(share * 100).toFixed(2)} % of the pixels differ; compare artifacts/console/changed`,
        );
      }
      await context.close();
      assert.deepEqual(differences, []);
    });
});

/** The picture once it stays the same: some answers follow from others. */
async function steadyPicture(page: Page): Promise<Buffer> {
  const end = performance.now() + PATIENCE;
  let last = await page.screenshot({ animations: 'disabled' });
  for (let same = 0; same < STEADY; ) {
    await page.waitForTimeout(REST_MS);
    const next = await page.screenshot({ animations: 'disabled' });
    same = next.equals(last) ? same + 1 : 0;
    last = next;
    assert.ok(performance.now() < end, 'the page does not come to rest');
  }
  return last;
}

const STEADY = 2;
const REST_MS = 150;

function nameOf(path: string): string {
  const words = decodeURIComponent(path)
    .split(/[^a-z0-9]+/i)
    .filter((word) => word !== '');
  return words.length === 0 ? 'overview' : words.join('-').toLowerCase();
}

/** The version of the browser, and the width of a text in the fonts of the page. */
async function environmentOf(browser: Browser, page: Page): Promise<string> {
  const widths = await page.evaluate(`[getComputedStyle(document.body).fontFamily, 'monospace'].map((font) => {
    const context = document.createElement('canvas').getContext('2d');
    context.font = '100px ' + font;
    return context.measureText('Capstan mWi0 → 123').width.toFixed(2);
  })`);
  return `${browser.version()} ${JSON.stringify(widths)}\n`;
}

/** The share of pixels of which a channel differs by more than a tenth. A browser decodes the pictures, so that no library is needed. */
async function differenceOf(browser: Browser, kept: Buffer, shown: Buffer): Promise<number> {
  const page = await browser.newPage();
  try {
    return await page.evaluate(
      async ([first, second]) => {
        const scope = globalThis as unknown as Canvases;
        const pixels = async (base64: string) => {
          const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
          const bitmap = await scope.createImageBitmap(new Blob([bytes]));
          const context = new scope.OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
          context.drawImage(bitmap, 0, 0);
          return context.getImageData(0, 0, bitmap.width, bitmap.height);
        };
        const [a, b] = [await pixels(first ?? ''), await pixels(second ?? '')];
        if (a.width !== b.width || a.height !== b.height) return 1;
        let different = 0;
        for (let at = 0; at < a.data.length; at += 4)
          if ([0, 1, 2].some((one) => Math.abs((a.data[at + one] ?? 0) - (b.data[at + one] ?? 0)) > 25)) different++;
        return different / (a.width * a.height);
      },
      [kept.toString('base64'), shown.toString('base64')],
    );
  } finally {
    await page.close();
  }
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}
interface Bitmap {
  readonly width: number;
  readonly height: number;
}
/** The part of a page's scope that the comparison uses; programs are checked without the types of browsers. */
interface Canvases {
  createImageBitmap(blob: Blob): Promise<Bitmap>;
  readonly OffscreenCanvas: new (
    width: number,
    height: number,
  ) => {
    getContext(kind: '2d'): {
      drawImage(bitmap: Bitmap, x: number, y: number): void;
      getImageData(x: number, y: number, width: number, height: number): Pixels;
    };
  };
}
