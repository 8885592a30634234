import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, isInvalid, type KindInputOf, type KindOf } from '@capstan/kube';
import { createStage, objectOf, planOf, type Stage } from '@capstan/testing';
import limits, { RateLimit, rateLimit } from './validation.ts';

type RateLimit = KindOf<typeof RateLimit>;
type Spec = KindInputOf<typeof RateLimit>['spec'];
const at = (name: string) => ({ namespace: 'default', name });
const limit = (spec: Spec, name = 'api') =>
  objectOf<RateLimit>(RateLimit, { metadata: at(name), spec: spec as RateLimit['spec'] });
const template = (text: string) =>
  objectOf<ConfigMap>(ConfigMap, { metadata: at('template'), data: { template: text } });

async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [limits],
    given: async (client) => {
      await client.create(ConfigMap, template('mode=strict limit={limit}'));
      await client.create(RateLimit, limit({ perSecond: 10, template: 'template' }));
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

const validOf = async ({ client }: Stage) =>
  findCondition((await client.get(RateLimit, at('api'))).status?.conditions, 'Valid');
const configOf = async ({ client }: Stage) => (await client.get(ConfigMap, at('api-config'))).data?.['config'];

describe('the example of validation', () => {
  const refused: [title: string, spec: Spec, message: RegExp][] = [
    ['a number out of range', { perSecond: 0, template: 't' }, /spec\.perSecond.*greater than or equal to 1/],
    ['a field of the wrong type', { perSecond: 'x' as never, template: 't' }, /spec\.perSecond/],
    ['a field that is missing', { perSecond: 1 } as Spec, /spec\.template: Required value/],
    ['fields that contradict each other', { perSecond: 10, burst: 5, template: 't' }, /spec\.burst.*must not be less/],
  ];
  for (const [title, spec, message] of refused) {
    test(`the server refuses ${title}, and names the field`, () =>
      staged(async ({ client }) => {
        await assert.rejects(client.create(RateLimit, limit(spec, 'bad')), (error: Error) => {
          assert.ok(isInvalid(error), error.message);
          assert.match(error.message, message);
          return true;
        });
      }));
  }

  test('a template that becomes bad is reported on the resource, and the last good configuration stays', () =>
    staged(async (stage) => {
      assert.equal(await configOf(stage), 'mode=strict limit=10/10');
      await stage.client.patch(ConfigMap, at('template'), 'merge', { data: { template: 'mode=strict' } });
      await stage.settle();
      const condition = await validOf(stage);
      assert.equal(condition?.reason, 'BadTemplate');
      assert.match(condition.message, /^spec\.template: /);
      assert.equal(await configOf(stage), 'mode=strict limit=10/10');
      await stage.client.delete(ConfigMap, at('template'));
      await stage.settle();
      assert.equal((await validOf(stage))?.reason, 'NoTemplate');
      assert.equal(await configOf(stage), 'mode=strict limit=10/10');
      await stage.client.create(ConfigMap, template('limit={limit}'));
      await stage.settle();
      assert.equal((await validOf(stage))?.status, 'True');
      assert.equal(await configOf(stage), 'limit=10/10');
    }));

  test('a refusal of the server is reported in its own words, and the last good configuration stays', () =>
    staged(async (stage) => {
      await stage.client.patch(RateLimit, at('api'), 'merge', { spec: { file: 'a b' } });
      await stage.settle();
      const condition = await validOf(stage);
      assert.equal(condition?.reason, 'Refused');
      assert.match(condition.message, /a b/);
      assert.equal(await configOf(stage), 'mode=strict limit=10/10');
      await stage.client.patch(RateLimit, at('api'), 'merge', { spec: { file: 'config' } });
      await stage.settle();
      assert.equal((await validOf(stage))?.status, 'True');
    }));

  test('the words of a condition are tested without a cluster', () => {
    const { conditions, prune } = planOf(rateLimit, [limit({ perSecond: 1, template: 'nowhere' })]);
    assert.equal(prune, false);
    assert.equal(conditions[0]?.message, 'spec.template: there is no ConfigMap nowhere; create it or correct the name');
  });
});
