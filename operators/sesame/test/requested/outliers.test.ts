// Outlier detection through a real Envoy: endpoints that answer with errors are left out, and come back.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { missingEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { createIngressStage, type IngressStage } from '../real/ingress-stage.ts';

const ENDPOINTS = ['127.64.7.2', '127.64.7.3'];
const [BROKEN = ''] = ENDPOINTS;

async function answers(stage: IngressStage, host: string): Promise<Set<number>> {
  const found = await Promise.all(Array.from({ length: 8 }, () => send({ port: stage.httpPort, host })));
  return new Set(found.map(({ status }) => status));
}

suite('outlier detection through a real Envoy', { skip: missingEnvoy() }, () => {
  test('an endpoint that answers with errors is left out, and comes back', async (context) => {
    const stage = await createIngressStage(context, 'delta-ads');
    let isBroken = true;
    await stage.pool('shop', ENDPOINTS, (address, _request, response) => {
      response.statusCode = isBroken && address === BROKEN ? 500 : 200;
      response.end();
    });
    const outlierDetection = { consecutiveServerErrors: 2, interval: '50ms', baseEjectionTime: '200ms' };
    await stage.proxy('shop', {
      virtualhost: { fqdn: 'shop.test' },
      routes: [{ services: [{ name: 'shop', port: 80, outlierDetection }] }],
    });
    await stage.proxy('plain', {
      virtualhost: { fqdn: 'plain.test' },
      routes: [{ services: [{ name: 'shop', port: 80 }] }],
    });
    await waitFor(async () => (await answers(stage, 'shop.test')).has(500), 'an error of the broken endpoint');
    const ejections = async () =>
      /outlier_detection\.ejections_enforced_total: (\d+)/.exec(await statistics(stage))?.[1];
    await waitFor(async () => Number(await ejections()) > 0, 'the endpoint to be left out');
    await waitFor(async () => !(await answers(stage, 'shop.test')).has(500), 'answers without errors');
    // Another HTTPProxy with the same Service decides for itself.
    await waitFor(async () => (await answers(stage, 'plain.test')).has(500), 'an error without detection');
    isBroken = false;
    await waitFor(async () => /ejections_active: 0/.test(await statistics(stage)), 'the endpoint to come back');
    assert.deepEqual([...(await answers(stage, 'shop.test'))], [200]);
    assert.deepEqual(stage.refusals(), []);
  });

  test('the configuration decides for services that do not, and one endpoint alone is never left out', async (context) => {
    const stage = await createIngressStage(context, 'delta-ads', (settings) => {
      settings.envoy.cluster.outlierDetection = { consecutiveServerErrors: 1, interval: '50ms' };
    });
    const fails: Parameters<IngressStage['backend']>[1] = (_request, response) => {
      response.statusCode = 500;
      response.end();
    };
    await stage.backend('alone', fails);
    await stage.pool('shop', ENDPOINTS, (address, request, response) =>
      address === BROKEN ? fails(request, response) : response.end(),
    );
    const proxy = (name: string, service: object) =>
      stage.proxy(name, {
        virtualhost: { fqdn: `${name}.test` },
        routes: [{ services: [{ name: 'shop', port: 80, ...service }] }],
      });
    await proxy('shared', {});
    await proxy('off', { outlierDetection: { disabled: true } });
    await proxy('alone', { name: 'alone' });
    await waitFor(async () => (await answers(stage, 'shared.test')).has(500), 'an error of the broken endpoint');
    await waitFor(async () => !(await answers(stage, 'shared.test')).has(500), 'answers without errors');
    await waitFor(async () => (await answers(stage, 'off.test')).has(500), 'the errors of a service without detection');
    assert.deepEqual([...(await answers(stage, 'alone.test'))], [500]);
    assert.deepEqual([...(await answers(stage, 'alone.test'))], [500]);
    assert.deepEqual(stage.refusals(), []);
  });
});

function statistics(stage: IngressStage): Promise<string> {
  return stage.envoy.admin('/stats?filter=outlier_detection');
}
