// No request fails while everything changes. `npm run bench -- xds` does the same with a thousand changes.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { missingEnvoy, runUnderLoad } from './under-load.ts';

suite('changes under load', { skip: missingEnvoy() }, () => {
  for (const mode of ['grpc', 'delta-ads'] as const)
    test(`${mode}: no request fails while routes, endpoints, certificates, listeners and hosts change`, async () => {
      const result = await runUnderLoad({ changes: 80, requestsPerSecond: 200, mode });
      assert.deepEqual(result.refusals, []);
      assert.deepEqual(result.failed, [], result.firstFailed.join('\n'));
      assert.ok(result.requests > 800, `${result.requests} requests`);
      assert.ok(
        Object.values(result.changes).every((count) => count >= 8),
        JSON.stringify(result.changes),
      );
    });

  for (const mode of ['grpc', 'delta-ads'] as const)
    test(`${mode}: no request fails when Envoy gets no processor for seconds while routes change`, async () => {
      const { failed, firstFailed, changes } = await runUnderLoad({
        changes: 7,
        requestsPerSecond: 50,
        mode,
        haltMs: 2_500,
      });
      assert.deepEqual(failed, [], firstFailed.join('\n'));
      assert.equal(changes.route, 2);
    });
});
