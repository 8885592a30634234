import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { OverviewAnswer } from '../../src/api-types.ts';
import { type FixtureServer, refused, startFixtures } from './fixture-server.ts';
import { AT, answersOf } from './fixtures.ts';
import {
  openBrowser,
  openPage,
  overflowOf,
  PATIENCE,
  violationsOf,
  waitForStream,
  withoutBrowser,
} from './open-browser.ts';

describe('states of the page', { skip: withoutBrowser, timeout: 5 * PATIENCE }, () => {
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

  test('a browser without a code, and one with an old token, learn how to get a new address', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByRole('heading', { name: 'Open the printed address' }).waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await context.close();
    server.set({ '/api/': refused(401, 'the token is not one of this process') });
    const old = await openPage(browser, server.url, 'old');
    await old.page.getByRole('heading', { name: 'not valid any more' }).waitFor();
    await old.page.getByText('capstan console --code').waitFor();
    await old.context.close();
  });

  test('a missing right is drawn as not known, with the Role to request', async () => {
    const role = 'kind: Role\nrules: []';
    server.set({
      ...answersOf({ objects: 10 }),
      '/api/object/': refused(403, 'you may not read secrets', role),
      '/api/kafka/': { unknown: ['The pods may not be read.'], role },
    });
    const { page, context } = await openPage(browser, `${server.url}/o/-/Secret/default/s`, 'token');
    await page.getByText('Not known: a right is missing.').waitFor();
    await page.getByText('The Role to request').click();
    await page.getByText('rules: []').waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await page.goto(`${server.url}/kafka`);
    await page.getByText('The pods may not be read.').waitFor();
    await context.close();
  });

  test('root causes are held back while caches fill', async () => {
    const answers = answersOf({ objects: 0 });
    const overview = {
      ...(answers['/api/overview'] as object),
      filling: [
        { world: '', kind: 'Secret', received: 410, remaining: 1890 },
        { world: 'east', kind: 'Pod', received: 0, problem: `no answer, ${'which-is-a-long-word'.repeat(9)}` },
      ],
    };
    server.set({ ...answers, '/api/overview': overview });
    const { page, context } = await openPage(browser, server.url, 'token');
    await page.getByRole('heading', { name: 'Still reading the cluster' }).waitFor();
    assert.equal(await page.getByText('Nothing needs you').count(), 0);
    await page.getByText('410 of ~2,300').waitFor();
    await page.getByText('no answer, which-is').waitFor();
    await page.setViewportSize({ width: 320, height: 700 });
    assert.ok((await overflowOf(page)) <= 0);
    const height = (await page.evaluate(`document.querySelector('.filling').getBoundingClientRect().height`)) as number;
    assert.ok(height < 400, `a long problem makes the list ${height} pixels high`);
    await context.close();
  });

  test('ten thousand root causes are counted, and the worst fifty are shown', async () => {
    const answers = answersOf({ objects: 10 });
    const overview = answers['/api/overview'] as OverviewAnswer;
    const [root] = overview.roots;
    const roots = Array.from({ length: 50 }, (_, at) => ({
      ...root,
      id: `Secret default/s${at}`,
      key: `default/s${at}`,
    }));
    server.set({ ...answers, '/api/overview': { ...overview, roots, rootCount: 10_000 } });
    const { page, context, complaints } = await openPage(browser, server.url, 'token');
    await page.getByRole('heading', { name: '10,000 things need you' }).waitFor();
    await page.getByText('the first 50 are shown').waitFor();
    assert.equal(await page.locator('article.root').count(), 50);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('a namespace without objects is named, and a cluster without them is empty', async () => {
    server.set(answersOf({ objects: 0 }));
    const { page, context } = await openPage(browser, `${server.url}/?ns=shop`, 'token');
    await page.getByRole('heading', { name: 'No object of your operators in shop' }).waitFor();
    await page.goto(server.url);
    await page.getByRole('heading', { name: 'There is nothing here yet' }).waitFor();
    await context.close();
  });

  test('an object of another cluster has no plan, and its address in the plan is refused in a sentence', async () => {
    server.set(answersOf({ objects: 10 }));
    const { page, context, complaints } = await openPage(browser, `${server.url}/o/east/Service/default/shop`, 'token');
    await page.getByText('read-only here').waitFor();
    assert.equal(await page.getByRole('link', { name: /Edit and plan/ }).count(), 0);
    await page.goto(`${server.url}/plan?object=east%2FService%2Fdefault%2Fshop`);
    await page.getByText('Service default/shop in east is in another cluster').first().waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('a manifest that does not parse is one sentence beside the editor, and the page goes on', async () => {
    const message = 'the manifests: line 2 is no YAML (bad indentation); fix the line';
    server.set({ ...answersOf({ objects: 10 }), 'POST /api/plan': refused(422, message) });
    const draft = encodeURIComponent('kind: A\n  b: [');
    const { page, context, complaints } = await openPage(browser, `${server.url}/plan#draft=${draft}`, 'token');
    await page.getByRole('heading', { name: 'Not valid yet' }).waitFor();
    await page.getByText(message).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Apply/ }).isEnabled(), false);
    server.set(answersOf({ objects: 10 }));
    await page.locator('.cm-content').click();
    await page.keyboard.type('# fixed\n');
    await page.getByText(message).waitFor({ state: 'detached' });
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('tabs share one stream, and the second goes on when the first closes', async () => {
    server.set(answersOf({ objects: 10 }));
    const asked = server.asked.filter((path) => path === 'GET /api/events').length;
    const { page, context } = await openPage(browser, server.url, 'token');
    await waitForStream(page);
    const second = await context.newPage();
    await second.goto(server.url);
    await waitForStream(second);
    await assertSoon(() => server.streams() === 1);
    assert.equal(server.asked.filter((path) => path === 'GET /api/events').length, asked + 1);
    const answers = answersOf({ objects: 10 });
    const withRoots = (rootCount: number) => {
      server.set({ ...answers, '/api/overview': { ...(answers['/api/overview'] as object), rootCount } });
      server.send('roots', {
        roots: [],
        rootCount,
        heldCount: 0,
        progress: [],
        progressCount: 0,
        operators: [],
        namespaces: [],
      });
    };
    withRoots(7);
    await Promise.all([page, second].map((tab) => tab.getByRole('heading', { name: '7 things need you' }).waitFor()));
    await page.close();
    await assertSoon(() => server.asked.filter((path) => path === 'GET /api/events').length === asked + 2);
    await assertSoon(() => server.streams() === 1);
    withRoots(8);
    await second.getByRole('heading', { name: '8 things need you' }).waitFor();
    await context.close();
  });

  test('a server that restarts is announced, and the data loads again after a gap', async () => {
    server.set(answersOf({ objects: 10 }));
    const { page, context } = await openPage(browser, `${server.url}/explore`, 'token');
    await page.getByText('10 found').waitFor();
    await waitForStream(page);
    await server.stop();
    await page.getByText('The connection to the console is lost since').waitFor();
    assert.equal(await page.getByText('10 found').count(), 1);
    server.set(answersOf({ objects: 12 }));
    await server.start();
    await page
      .getByRole('button', { name: 'Now' })
      .click({ timeout: 5000 })
      .catch(() => undefined);
    await waitForStream(page);
    server.send('gap', {});
    await page.getByText('12 found').waitFor();
    await context.close();
  });

  test('a changed row appears without a request for each row', async () => {
    server.set(answersOf({ objects: 10 }));
    const { page, context } = await openPage(browser, `${server.url}/explore`, 'token');
    await waitForStream(page);
    await page.getByText('10 found').waitFor();
    const asked = server.asked.length;
    server.set(answersOf({ objects: 11 }));
    const row = {
      id: 'a',
      world: '',
      kind: 'K',
      key: 'n/a',
      state: 'ready',
      reason: '',
      message: '',
      since: AT,
    } as const;
    for (let at = 0; at < 20; at++) server.send('objects', { rows: [{ ...row, id: `a${at}` }], removed: [] });
    await page.getByText('11 found').waitFor();
    assert.ok(server.asked.slice(asked).filter((path) => path.includes('/api/objects')).length <= 3);
    await context.close();
  });
});

async function assertSoon(test: () => boolean): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!test()) {
    assert.ok(Date.now() < end, 'the condition did not hold in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
