// Sesame beside the real Contour: generated objects, the statuses of both, and all that both send to Envoy. Everything that differs has an
// entry on the page docs/sesame-and-contour.md, or fails the test.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { runs } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { createSecrets } from '../errors/secrets.ts';
import { createCases, sharedObjects } from './cases.ts';
import { compare } from './compare.ts';
import { askContour, missingContour } from './contour.ts';
import { DIFFERENCES } from './differences.ts';
import { askSesame } from './sesame.ts';

/** So many cases are there at once; each batch has a Contour of its own. */
const BATCH = 100;

/** As Contour runs without a configuration: its file sets one default that a resource does not have. */
function settings(): RoutingSettings {
  const { ingress, envoy, ...defaults } = defaultConfiguration();
  const timeouts = { ...envoy.timeouts, connectionIdleTimeout: '60s' };
  return { ...defaults, ingress: { ...ingress, contour: true }, envoy: { ...envoy, timeouts } };
}

suite('beside Contour', { skip: missingContour() }, () => {
  for (let batch = 0; batch < runs(1, 8, 'CAPSTAN_CONTOUR_BATCHES'); batch++)
    test(`cases ${batch * BATCH} to ${(batch + 1) * BATCH - 1} are served and reported alike`, {
      timeout: 300_000,
    }, async (t) => {
      const cases = createCases(batch + 1, BATCH);
      const contour = await askContour([
        ...sharedObjects(await createSecrets()),
        ...cases.flatMap(({ objects }) => objects),
      ]);
      const sesame = askSesame(
        contour.objects,
        settings(),
        cases.flatMap(({ hosts }) => hosts),
      );
      const findings = cases.flatMap((each) => compare(each, contour, sesame));
      const known = new Set(DIFFERENCES.map(({ id }) => id));
      assert.deepEqual(
        findings
          .filter(({ excuse }) => excuse === undefined || !known.has(excuse))
          .map(({ name, path, ...both }) => `${name} (seed ${batch + 1}) ${path}: ${JSON.stringify(both)}`),
        [],
      );
      const excused = Map.groupBy(findings, ({ excuse = '' }) => excuse);
      t.diagnostic([...excused].map(([id, { length }]) => `${id} ${length}`).join(', '));
    });
});
