// Kafka proxies: proxies that come and go, a Secret in a filter that changes, and a certificate that is renewed.
import { KafkaProxy, KafkaProxyIngress, VirtualKafkaCluster } from '@capstan/kroxylicious';
import { type Client, Deployment, Secret } from '@capstan/kube';
import { type Area, conditionProblem, createPool, put, remove, type Seen } from './area.ts';
import type { Certificates } from './certificates.ts';

const NAMESPACE = 'default';
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const RENEWED = 'renewed';

export function kafkaArea(client: Client, certificates: Certificates): Area {
  const pool = createPool(6);
  const nameOf = (index: number) => `pool-${index}`;
  /** Edits since the start that may roll the pods of a proxy, and the generation of its Deployment at the start. */
  const rolls = new Map([
    ['my-proxy', { edits: 0, base: 1 }],
    [RENEWED, { edits: 0, base: 1 }],
  ]);
  const count = (name: string) => {
    const roll = rolls.get(name);
    if (roll !== undefined) roll.edits++;
  };
  const renew = async () =>
    put(client, Secret, ref(`${RENEWED}-tls`), {
      type: 'kubernetes.io/tls',
      stringData: await certificates.next(RENEWED),
    });
  const createProxy = async (name: string, protocol: 'TCP' | 'TLS', replicas: number) => {
    const proxyRef = { name };
    await put(client, KafkaProxyIngress, ref(name), { spec: { proxyRef, clusterIP: { protocol } } });
    const tls = protocol === 'TLS' ? { tls: { certificateRef: { name: `${RENEWED}-tls` } } } : {};
    await put(client, VirtualKafkaCluster, ref(name), {
      spec: { proxyRef, targetKafkaServiceRef: { name: 'upstream' }, ingresses: [{ ingressRef: { name }, ...tls }] },
    });
    await put(client, KafkaProxy, ref(name), { spec: { replicas } });
  };

  return {
    name: 'Kafka proxies',
    async prepare() {
      await renew();
      await createProxy(RENEWED, 'TLS', 1);
      for (const [name, roll] of rolls) {
        const found = await client.find(Deployment, ref(name));
        roll.base = found?.metadata.generation ?? 1;
      }
    },
    async edit(random) {
      if (random.chance(0.2)) {
        // Counted first: the pods may roll before this process sees the answer.
        count(RENEWED);
        await renew();
        return;
      }
      if (random.chance(0.15)) {
        count('my-proxy');
        await put(client, Secret, ref('vault-token'), { stringData: { token: certificates.secretText() } });
        return;
      }
      const { index, isPresent } = pool.pick(random);
      const replicas = random.integer(1, 3);
      const name = nameOf(index);
      if (!isPresent) {
        await createProxy(name, 'TCP', replicas);
        pool.present.set(index, replicas);
      } else if (random.chance(0.5)) {
        await client.patch(KafkaProxy, ref(name), 'merge', { spec: { replicas } });
        pool.present.set(index, replicas);
      } else {
        pool.present.delete(index);
        for (const kind of [VirtualKafkaCluster, KafkaProxyIngress, KafkaProxy]) await remove(client, kind, ref(name));
      }
    },
    async unsettled() {
      const problems: string[] = [];
      const expected = new Map<string, unknown>(
        [...pool.present].map(([index, replicas]) => [nameOf(index), replicas]),
      );
      for (const [name, replicas] of [...expected, ['my-proxy', 2] as const, [RENEWED, 1] as const]) {
        const proxy = (await client.find(KafkaProxy, ref(name))) as Seen | undefined;
        problems.push(...conditionProblem(proxy, `KafkaProxy ${name}`, 'Ready', 'True'));
        const found = await client.find(Deployment, ref(name));
        if (found?.spec?.replicas !== replicas)
          problems.push(
            `Deployment ${name} has ${found?.spec?.replicas ?? 'no'} replicas (${String(replicas)} expected)`,
          );
      }
      for (const index of pool.absent())
        if ((await client.find(Deployment, ref(nameOf(index)))) !== undefined)
          problems.push(`Deployment ${nameOf(index)} is still there`);
      return problems;
    },
    async broken() {
      const problems: string[] = [];
      for (const [name, { edits, base }] of rolls) {
        const found = await client.find(Deployment, ref(name));
        const rolled = (found?.metadata.generation ?? base) - base;
        if (rolled > edits + 1) problems.push(`Deployment ${name} changed ${rolled} times for ${edits} edits`);
      }
      return problems;
    },
  };
}
