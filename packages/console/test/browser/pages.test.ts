import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { type FixtureServer, startFixtures } from './fixture-server.ts';
import { answersOf, PAGES } from './fixtures.ts';
import { openBrowser, openPage, overflowOf, PATIENCE, violationsOf, withoutBrowser } from './open-browser.ts';

describe('the pages', { skip: withoutBrowser, timeout: 5 * PATIENCE }, () => {
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
    test(`have no violation of WCAG 2.2 AA and no complaint in ${colorScheme}`, async () => {
      server.set(answersOf({ objects: 10 }));
      for (const [path, heading] of PAGES) {
        const { page, context, complaints } = await openPage(browser, server.url + path, 'token', { colorScheme });
        await page.getByRole('heading', { name: heading }).first().waitFor();
        assert.deepEqual(await violationsOf(page), [], path);
        assert.deepEqual(complaints, [], path);
        await context.close();
      }
    });

  test('fit into 320 and 1280 pixels, with reduced motion and forced colours', async () => {
    server.set(answersOf({ objects: 10 }));
    for (const width of [320, 1280]) {
      const options = { viewport: { width, height: 800 }, reducedMotion: 'reduce', forcedColors: 'active' } as const;
      for (const [path, heading] of PAGES) {
        const { page, context } = await openPage(browser, server.url + path, 'token', options);
        await page.getByRole('heading', { name: heading }).first().waitFor();
        assert.ok((await overflowOf(page)) <= 0, `${path} is wider than ${width} pixels`);
        await context.close();
      }
    }
  });

  test('show text of the cluster as text', async () => {
    const text = '<img src=x onerror=document.title="run">';
    server.set(answersOf({ objects: 10, text }));
    for (const [path, heading] of PAGES) {
      const { page, context, complaints } = await openPage(browser, server.url + path, 'token');
      await page.getByRole('heading', { name: heading }).first().waitFor();
      assert.equal(await page.locator('img').count(), 0, path);
      assert.match((await page.locator('body').textContent()) ?? '', /<img src=x/);
      assert.doesNotMatch(await page.title(), /^run$/);
      assert.deepEqual(complaints, [], path);
      await context.close();
    }
  });

  for (const objects of [0, 1000, 10_000])
    test(`show ${objects} objects with few rows in the document`, async () => {
      server.set(answersOf({ objects }));
      const { page, context, complaints } = await openPage(browser, `${server.url}/explore`, 'token');
      await page
        .getByText(objects === 0 ? 'There are no objects yet' : `${objects.toLocaleString('en')} found`)
        .waitFor();
      assert.ok((await page.locator('tbody tr').count()) < 80);
      await page.goto(`${server.url}/`);
      await page
        .getByText(objects === 0 ? 'No object of your operators yet' : 'does not exist')
        .first()
        .waitFor();
      assert.ok((await page.locator('article.root').count()) <= 50);
      assert.deepEqual(complaints, []);
      await context.close();
    });
});
