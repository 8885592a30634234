// Sesame beside the real Contour: generated objects, the statuses of both, and all that both send to Envoy. Everything that differs has an
// entry on the page docs/sesame-and-contour.md, or fails the test.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { runs } from '@capstan/testing';
import { effectiveOfFile, readConfigurationFile } from '../../src/configuration/index.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { createSecrets } from '../errors/secrets.ts';
import { type Case, createCases, sharedObjects } from './cases.ts';
import { compare, compareListeners } from './compare.ts';
import { askContour, missingContour } from './contour.ts';
import { DIFFERENCES } from './differences.ts';
import { KEPT_CASES, KEPT_FILE } from './kept-cases.ts';
import { askSesame } from './sesame.ts';

/** So many cases are there at once; each batch has a Contour of its own. */
const BATCH = 100;

/** As both run with a configuration file; an empty one sets a default that a resource does not have. */
function settings(file: string): RoutingSettings {
  const { effective } = effectiveOfFile(readConfigurationFile(file), { path: 'contour.yaml', namespace: 'default' });
  const { ingress, ...more } = effective.value;
  return { ...more, ingress: { ...ingress, contour: true } };
}

async function check(t: TestContext, cases: readonly Case[], title: string, file = ''): Promise<void> {
  const objects = [...sharedObjects(await createSecrets()), ...cases.flatMap((each) => each.objects)];
  const contour = await askContour(objects, file);
  const hosts = cases.flatMap((each) => each.hosts);
  const sesame = askSesame(contour.objects, settings(file), hosts);
  const findings = [...cases.flatMap((each) => compare(each, contour, sesame)), ...compareListeners(contour, sesame)];
  const known = new Set(DIFFERENCES.map(({ id }) => id));
  assert.deepEqual(
    findings
      .filter(({ excuse }) => excuse === undefined || !known.has(excuse))
      .map(({ name, path, ...both }) => `${name} (${title}) ${path}: ${JSON.stringify(both)}`),
    [],
  );
  const excused = Map.groupBy(findings, ({ excuse = '' }) => excuse);
  t.diagnostic([...excused].map(([id, { length }]) => `${id} ${length}`).join(', '));
}

suite('beside Contour', { skip: missingContour() }, () => {
  for (let batch = 0; batch < runs(1, 8, 'CAPSTAN_CONTOUR_BATCHES'); batch++)
    test(
      `cases ${batch * BATCH} to ${(batch + 1) * BATCH - 1} are served and reported alike`,
      {
        timeout: 300_000,
      },
      (t) => check(t, createCases(batch + 1, BATCH), `seed ${batch + 1}`),
    );

  test('objects in which both once differed are served and reported alike', { timeout: 300_000 }, (t) =>
    check(t, KEPT_CASES, 'kept', KEPT_FILE),
  );
});
