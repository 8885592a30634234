import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type FixtureServer, startFixtures } from './fixture-server.ts';
import { answersOf } from './fixtures.ts';
import { openBrowser, openPage, PATIENCE, violationsOf, waitForStream, withoutBrowser } from './open-browser.ts';

const focused = (page: Page) =>
  page.evaluate(`(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '')`);

describe('the keyboard', { skip: withoutBrowser, timeout: 5 * PATIENCE }, () => {
  let browser: Browser;
  let server: FixtureServer;
  before(async () => {
    browser = await openBrowser();
    server = await startFixtures(answersOf({ objects: 10, writes: true }));
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('leads from a deleted Secret over its cause to a plan that is applied', async () => {
    const { page, context, complaints } = await openPage(browser, server.url, 'token');
    await page.getByText('Secret default/p does not exist').waitFor();
    await page.keyboard.press('j');
    assert.match(String(await focused(page)), /Secret default\/p/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Why it is as it is' }).waitFor();
    await page.keyboard.press('w');
    assert.match(String(await focused(page)), /It depends on p/);
    await page.keyboard.press('e');
    await page.getByText('rolls pods').first().waitFor();
    const apply = page.getByRole('button', { name: 'Apply…' });
    await apply.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByText(/Done: applied/).waitFor();
    assert.ok(server.asked.includes('POST /api/act'));
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('opens the palette, finds an absent object, and closes it with Esc', async () => {
    const { page, context } = await openPage(browser, server.url, 'token');
    await waitForStream(page);
    await page.keyboard.press('Control+k');
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('p');
    await page.getByRole('option', { name: /does not exist, but is read/ }).waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('kafka prox');
    // The list is complete once the answer of the server is there: entries do not move any more.
    await page.getByRole('option', { name: /^Ready KafkaProxy default\/proxy-0/ }).waitFor();
    await page.getByRole('option', { name: /Kafka proxies/ }).waitFor();
    await page.getByRole('option', { name: /Kafka proxies/ }).click();
    await page.getByRole('heading', { name: 'Hash tree' }).waitFor();
    await context.close();
  });

  test('walks a graph with arrows, and changes its depth', async () => {
    const { page, context } = await openPage(
      browser,
      `${server.url}/o/-/KafkaProxy.kroxylicious.io/default/p`,
      'token',
    );
    await page.locator('[data-node]').first().waitFor();
    await page.locator('[data-node^="KafkaProxy"]').focus();
    await page.keyboard.press('ArrowLeft');
    assert.match(String(await focused(page)), /Secret p, Does not exist/);
    await page.keyboard.press('ArrowRight');
    assert.match(String(await focused(page)), /KafkaProxy/);
    await page.keyboard.press(']');
    await page.waitForURL(/depth=4/);
    await context.close();
  });

  test('single keys are off in the editor and when they are turned off', async () => {
    const { page, context, complaints } = await openPage(
      browser,
      `${server.url}/plan?object=-%2FKafkaProxy.kroxylicious.io%2Fdefault%2Fp`,
      'token',
    );
    const editor = page.locator('.cm-content');
    await editor.waitFor();
    await page.getByText('rolls pods').first().waitFor();
    await editor.press('Control+End');
    await page.keyboard.type('  is');
    // The editor ignores keys for a moment after the list has opened, and clicks it does not.
    await page.locator('.cm-tooltip-autocomplete').getByText('isolation').click();
    await page.keyboard.type('Wrong');
    await page.getByText('isolation: Wrong').waitFor();
    await page.locator('.cm-lintRange-error, .cm-lint-marker-error').first().waitFor();
    assert.match(page.url(), /\/plan/);
    assert.deepEqual(complaints, []);
    await page.keyboard.press('Escape');
    await page.goto(server.url);
    await waitForStream(page);
    await page.keyboard.press('?');
    await page.getByRole('checkbox', { name: /single keys/ }).uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('b');
    assert.equal(new URL(page.url()).pathname, '/');
    await context.close();
  });
});
