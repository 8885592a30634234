import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition } from '@capstan/kube';
import { createStage, objectOf } from '@capstan/testing';
import operator, { Careless } from './mistakes.ts';

const page = readFileSync(new URL('../write-an-operator.md', import.meta.url), 'utf8');
/** The table of mistakes: each with the condition, and the beginning of its message. */
const rows = [...page.matchAll(/^\| ([^|]+?) \| `(ReconcileError|Waiting|status)` \| `([^`]+)` \|$/gm)].map(
  ([, mistake = '', condition = '', message = '']) => ({ mistake, condition, message }),
);

const at = (name: string) => ({ namespace: 'default', name });
const careless = (name: string, mistake: string) =>
  objectOf<Careless>(Careless, { metadata: at(name), spec: { mistake } });

test('the page lists every mistake', () => {
  assert.equal(rows.length, 15);
});

describe('the example of mistakes:', () => {
  for (const { mistake, condition, message } of rows)
    test(`when ${mistake}, the resource shows it, the others go on, and a correction heals it`, async (t) => {
      const stage = await createStage({
        operators: [operator],
        async given(client) {
          await client.create(
            ConfigMap,
            objectOf<ConfigMap>(ConfigMap, { metadata: at('shared'), data: { text: 'a' } }),
          );
        },
      });
      t.after(() => stage.end());
      const { client, clock } = stage;
      const shown = async (name: string) => {
        const { status } = await client.get(Careless, at(name));
        return condition === 'status' ? status?.seen : findCondition(status?.conditions, condition)?.message;
      };
      await client.create(Careless, careless('bad', mistake));
      await client.create(Careless, careless('fine', 'none'));
      await clock.advance(20_000);
      assert.ok((await shown('bad'))?.includes(message), `shown: ${await shown('bad')}`);
      assert.equal((await client.get(Careless, at('fine'))).status?.seen, 'none 1');
      assert.equal((await client.get(ConfigMap, at('shared'))).data?.['text'], 'a');
      await client.patch(Careless, at('bad'), 'merge', { spec: { mistake: 'corrected' } });
      await clock.advance(400_000);
      assert.equal((await client.get(Careless, at('bad'))).status?.seen, 'corrected 1');
      if (condition !== 'status') assert.equal(await shown('bad'), undefined);
    });
});
