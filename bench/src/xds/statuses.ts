// Statuses of many new HTTPProxies, and an edit that is made meanwhile.
import { HTTPProxy } from '@capstan/sesame/serving';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { until } from '../runtime/until.ts';
import { certificate, createObjects, createOne, NAMESPACE, startIngress } from './ingress.ts';

export const statuses: Part = {
  name: 'statuses',
  summary: 'the statuses of a thousand new HTTPProxies',
  async measure(scale) {
    const count = scale === 'tiny' ? 20 : 1_000;
    const ingress = await startIngress(await createObjects(10));
    await ingress.running.rest();
    const data = await certificate();
    const { client } = ingress.cluster;
    for (let index = 10; index < 10 + count; index++) await createOne(client, index, data);
    const began = performance.now();
    await client.patch(HTTPProxy, { namespace: NAMESPACE, name: 'proxy-1' }, 'merge', {
      spec: { routes: [{ services: [{ name: 'nowhere', port: 80 }] }] },
    });
    const isInvalid = async () =>
      (await client.get(HTTPProxy, { namespace: NAMESPACE, name: 'proxy-1' })).status?.currentStatus === 'invalid';
    while (!(await isInvalid())) await new Promise((resolve) => setImmediate(resolve));
    const editMs = performance.now() - began;
    await until(() => ingress.running.isAtRest());
    const settledMs = performance.now() - began;
    const list = await client.list(HTTPProxy, { namespace: NAMESPACE });
    const valid = list.items.filter(({ status }) => status?.currentStatus === 'valid').length;
    await ingress.close();
    return [
      result({
        name: `${count} new proxies: statuses after the last one was created`,
        unit: 's',
        rounds: [settledMs / 1000],
        ...(scale === 'full' ? { below: 5 } : {}),
      }),
      result({
        name: 'an edit made meanwhile: its status',
        unit: 's',
        rounds: [editMs / 1000],
        ...(scale === 'full' ? { below: 1 } : {}),
      }),
      result({ name: 'proxies with the status valid', unit: 'proxies', rounds: [valid], exactly: count + 9 }),
    ];
  },
};
