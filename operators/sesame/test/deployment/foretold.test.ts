// Random edits of a SesameDeployment: each is previewed, made and compared.
// On the embedded server only: minutes pass at once there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertForetold,
  compareWithPreview,
  createRandom,
  type ForetoldRun,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  toRest,
} from '@capstan/testing';
import { SesameConfiguration, SesameDeployment } from '../../src/index.ts';
import { at, deployment, NAMESPACE, staged } from './fixtures.ts';

function randomSpec(random: SeededRandom): object {
  const some = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.4)));
  return some({
    replicas: random.integer(1, 3),
    nodePlacement: { nodeSelector: { role: random.pick(['control', 'edge']) } },
    envoy: some({ logLevel: random.pick(['debug', 'info']) }),
    sesame: some({ disabledFeatures: ['tlsroutes'] }),
    configuration: some({
      health: { port: random.integer(8100, 8102) },
      envoy: some({
        http: { port: random.integer(9080, 9082) },
        timeouts: { requestTimeout: random.pick(['8s', '9s']) },
        managed: { networkPublishing: { type: random.pick(['NodePortService', 'LoadBalancerService']) } },
      }),
    }),
  });
}

/** An edit changes annotations of the Deployment alone, which is a new generation of it. */
const KEPT: readonly ForetoldRun[] = [{ seed: 2, edits: 40 }];

for (const { seed, edits, variety } of foretoldRuns(10, KEPT))
  test(`${edits} random edits of a SesameDeployment do what their previews show (seed ${seed})`, async (t) => {
    const random = createRandom(seed);
    const next = (): RandomEdit =>
      random.chance(0.1)
        ? { kind: SesameDeployment, gone: at('edge') }
        : { kind: SesameDeployment, object: deployment(randomSpec(random)) };
    await staged([deployment()], async (stage) => {
      await stage.settle();
      await toRest(stage);
      const { writes } = await assertForetold({ stage, edits, next, variety, report: (line) => t.diagnostic(line) });
      assert.ok(writes > edits, 'the edits do something');
    });
  });

test('a deletion that waits for a Sesame to release its configuration shows everything that goes afterwards', async () => {
  await staged([deployment()], async (stage) => {
    await stage.settle();
    await toRest(stage);
    const finalizers = ['projectsesame.io/configuration'];
    await stage.client.patch(SesameConfiguration, at('sesameconfig-edge'), 'merge', { metadata: { finalizers } });
    await stage.settle();
    const { predicted, differences } = await compareWithPreview({
      stage,
      changes: [{ kind: SesameDeployment, ref: at('edge'), gone: true }],
      make: async () => void (await stage.client.delete(SesameDeployment, at('edge'))),
    });
    assert.deepEqual(differences, []);
    const gone = predicted.later.filter(({ verb }) => verb === 'delete').map(({ object }) => object);
    assert.ok(gone.includes(`Deployment ${NAMESPACE}/sesame-edge`), gone.join());
    assert.equal(await stage.client.find(SesameDeployment, at('edge')), undefined);
  });
});
