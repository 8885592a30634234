import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, defineKind, object, string } from '@capstan/kube';
import { apply, operator, plan, reconciler } from '@capstan/reconcile';
import { createLives } from './lives.ts';

const Page = defineKind({
  group: 'lives.capstan.dev',
  version: 'v1',
  kind: 'Page',
  scope: 'Namespaced',
  spec: object({ text: string() }),
});
/** Two children, so that one can die between them. */
const pages = reconciler({
  name: 'page',
  resource: Page,
  reads: [],
  writes: [ConfigMap],
  reconcile: ({ object: { metadata, spec } }) =>
    plan({
      groups: ['first', 'second'].map((name) => ({
        name,
        children: [
          apply(ConfigMap, {
            metadata: { name: `${metadata.name}-${name}`, namespace: 'default' },
            data: { text: spec.text },
          }),
        ],
      })),
    }),
});
const operators = [operator({ name: 'pages', kinds: [Page], reconcilers: [pages] })];
const one = {
  apiVersion: Page.apiVersion,
  kind: Page.kind,
  metadata: { namespace: 'default', name: 'one' },
  spec: { text: 'x' },
};

test('a program that dies after a write makes no other one, and the next life goes on from there', async () => {
  const lives = await createLives({ operators });
  const created = async () =>
    (await lives.client.list(ConfigMap, { namespace: 'default' })).items
      .map(({ metadata }) => metadata.name ?? '')
      .filter((name) => name.startsWith('one-'));
  await lives.client.create(Page, one);
  const first = await lives.begin();
  first.dieAfterWrites(1);
  await first.settle();
  await first.end();
  assert.equal(first.isDead, true);
  assert.deepEqual(await created(), ['one-first']);
  const second = await lives.begin();
  await second.settle();
  assert.deepEqual(await created(), ['one-first', 'one-second']);
  await second.end();
  assert.equal(second.isDead, false);
  await lives.close();
});
