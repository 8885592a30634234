// Dependence of objects on a whole program: a Site reads Pages, a Page reads a Secret through a derivation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditions, defineKind, type KindOf, object, Secret, string } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { conditionType, plan } from '../plan/index.ts';
import { derivation } from '../read/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { createChangeFeed, type ObjectChange } from './change-feed.ts';
import { formatObjectId, objectGraph } from './object-graph.ts';
import { causesFromReads, type ProblemObject } from './runtime-causes.ts';

const GROUP = 'dependence.capstan.dev';
const Page = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Page',
  scope: 'Namespaced',
  spec: object({ secret: string() }),
  status: object({ conditions: conditions() }),
});
type Page = KindOf<typeof Page>;
const Site = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ page: string() }),
  status: object({ conditions: conditions() }),
});
type Site = KindOf<typeof Site>;
const ready = conditionType<'Done' | 'Missing'>('Ready');

const secretIsThere = derivation<boolean>({
  name: 'secret-is-there',
  compute: ({ key, read }) => read.get(Secret, { namespace: 'default', name: key }) !== undefined,
});
const pages = reconciler<Page>({
  name: 'page',
  resource: Page,
  reads: [reading(Secret, 'referenced')],
  reconcile({ object: { spec }, read }) {
    const isThere = read.derived(secretIsThere, spec.secret);
    return plan({
      conditions: [isThere ? ready.isTrue('Done', '') : ready.isFalse('Missing', `Secret ${spec.secret} is not there`)],
    });
  },
});
const sites = reconciler<Site>({
  name: 'site',
  resource: Site,
  reads: [Page],
  reconcile({ object: { spec }, read }) {
    const page = read.get(Page, { namespace: 'default', name: spec.page });
    return plan({
      conditions: [page === undefined ? ready.isFalse('Missing', `no page ${spec.page}`) : ready.isTrue('Done', '')],
    });
  },
});
const operators = [operator({ name: 'sites', kinds: [Page, Site], reconcilers: [pages, sites] })];
const at = (name: string) => ({ name, namespace: 'default' });
const id = (kind: string, name: string) => ({ world: '', kind, key: `default/${name}` });

async function stageWithSite() {
  return createStage({
    operators,
    async given(client) {
      await client.create(Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: at('token'),
        stringData: { token: 'value-that-no-feed-may-hold' },
      });
      await client.create(Page, {
        apiVersion: `${GROUP}/v1`,
        kind: 'Page',
        metadata: at('home'),
        spec: { secret: 'token' },
      });
      await client.create(Site, {
        apiVersion: `${GROUP}/v1`,
        kind: 'Site',
        metadata: at('shop'),
        spec: { page: 'home' },
      });
    },
  });
}

test('reads and readers of objects are found through derivations, in both directions', async () => {
  const stage = await stageWithSite();
  await stage.settle();
  const graph = objectGraph(stage.program.runtime);
  const page = id(`Page.${GROUP}`, 'home');
  assert.deepEqual(graph.readsOf(page).map(formatObjectId), ['Secret default/token']);
  assert.deepEqual(graph.readsOf(page)[0]?.via, ['secret-is-there(token)']);
  assert.deepEqual(graph.readersOf(id('Secret', 'token')).map(formatObjectId), [`Page.${GROUP} default/home`]);
  assert.deepEqual(graph.readersOf(page).map(formatObjectId), [`Site.${GROUP} default/shop`]);
  assert.deepEqual(graph.readersOf(id('Secret', 'other')), []);
  await stage.end();
});

test('an absent object that a condition names is the root of all that follows, and unknown is none', async () => {
  const stage = await stageWithSite();
  await stage.settle();
  await stage.client.delete(Secret, at('token'));
  await stage.settle();
  const { runtime } = stage.program;
  const problems: ProblemObject[] = [
    { ...id(`Page.${GROUP}`, 'home'), state: 'broken', message: 'Secret token is not there.' },
    { ...id(`Site.${GROUP}`, 'shop'), state: 'progress', message: '1 of 2 pages are up' },
  ];
  const { roots, absent } = causesFromReads(runtime, problems);
  assert.deepEqual(
    roots.map((root) => [root.id, root.affects]),
    [['Secret default/token', [`Page.${GROUP} default/home`, `Site.${GROUP} default/shop`]]],
  );
  assert.deepEqual([...absent.keys()], ['Secret default/token']);
  // A message that does not name the absent object leaves the problem a root itself.
  const unnamed = causesFromReads(runtime, [{ ...id(`Page.${GROUP}`, 'home'), state: 'broken', message: 'other' }]);
  assert.deepEqual(
    unnamed.roots.map((root) => root.id),
    [`Page.${GROUP} default/home`],
  );
  await stage.end();
});

test('the feed has changes and deletions in their order, with names of fields and no values', async () => {
  const stage = await stageWithSite();
  await stage.settle();
  const { runtime } = stage.program;
  const feed = createChangeFeed({ runtime, now: () => 0, epoch: 'e', capacity: 4 });
  const heard: ObjectChange[] = [];
  feed.onChanges((changes) => heard.push(...changes));
  await stage.client.patch(Secret, at('token'), 'merge', {
    stringData: { token: 'another-value-that-no-feed-may-hold' },
  });
  await stage.settle();
  await stage.client.delete(Secret, at('token'));
  await stage.settle();
  const texts = heard.map(({ verb, kind, key, paths }) => `${verb} ${kind} ${key} ${paths.join()}`);
  assert.ok(texts.includes('changed Secret default/token data.token'), texts.join('\n'));
  assert.ok(texts.includes('deleted Secret default/token '), texts.join('\n'));
  assert.ok(
    texts.some((text) => text.startsWith(`changed Page.${GROUP} default/home status.conditions`)),
    texts.join('\n'),
  );
  assert.ok(!JSON.stringify(heard).includes('no-feed-may-hold'));
  assert.deepEqual(
    heard.map(({ sequence }) => sequence),
    heard.map((_, index) => index + 1),
  );

  await stage.client.create(Site, { apiVersion: `${GROUP}/v1`, kind: 'Site', metadata: at('a'), spec: { page: 'a' } });
  await stage.settle();
  await stage.client.create(Site, { apiVersion: `${GROUP}/v1`, kind: 'Site', metadata: at('b'), spec: { page: 'b' } });
  await stage.settle();
  assert.equal(feed.list({ limit: 10 }).length, 4);
  assert.deepEqual(feed.list({ limit: 1 })[0]?.sequence, feed.last);
  assert.equal(feed.since(0), undefined);
  assert.deepEqual(feed.since(feed.last), []);
  assert.equal(feed.since(feed.last + 1), undefined);
  assert.deepEqual(feed.list({ limit: 10, before: feed.last }).length, 3);
  const own = feed.list({ limit: 10, object: id(`Site.${GROUP}`, 'b') });
  assert.ok(own.length > 0 && own.every(({ key }) => key === 'default/b'));
  feed.stop();
  await stage.client.delete(Site, at('b'));
  await stage.settle();
  assert.equal(heard.filter(({ verb, key }) => verb === 'deleted' && key === 'default/b').length, 0);
  await stage.end();
});
