// Discovery: remote services that come and go, and backends that are drained and return.
import { DiscoveryBackend } from '@capstan/gimbal';
import { type Client, EndpointSlice, externalKind, type KubeObject, Service } from '@capstan/kube';
import { type Area, conditionProblem, createPool, put, remove, type Seen } from './area.ts';

const CONTOUR_PROXY = externalKind({
  group: 'projectcontour.io',
  version: 'v1',
  kind: 'HTTPProxy',
  plural: 'httpproxies',
  scope: 'Namespaced',
});
const SHOP = 'shop';
const BACKENDS = ['east', 'west'] as const;
type Backend = (typeof BACKENDS)[number];
const ORIGINAL: Readonly<Record<Backend, number>> = { east: 70, west: 30 };
const backendRef = (name: string) => ({ namespace: 'gimbal-discovery', name });
const shopRef = (name: string) => ({ namespace: SHOP, name });

export function discoveryArea(hub: Client, remotes: Readonly<Record<Backend, Client>>): Area {
  const pools = { east: createPool(8), west: createPool(8) };
  let drained: Backend | undefined;

  const weights = async (): Promise<Readonly<Record<Backend, number>>> => {
    const web = (await hub.get(CONTOUR_PROXY, shopRef('web'))) as KubeObject & {
      spec?: { routes?: { services?: { name: string; weight?: number }[] }[] };
    };
    const services = web.spec?.routes?.[0]?.services ?? [];
    const of = (backend: Backend) => services.find(({ name }) => name === `${backend}-web`)?.weight ?? 0;
    return { east: of('east'), west: of('west') };
  };

  return {
    name: 'discovery',
    async prepare() {
      const maintenance = { rampSeconds: 5, restoreHoldSeconds: 20 };
      for (const name of BACKENDS)
        await hub.patch(DiscoveryBackend, backendRef(name), 'merge', { spec: { maintenance } });
    },
    async edit(random) {
      if (random.chance(0.08)) {
        // At most one backend is in maintenance at a time, so that requests always have a place to go.
        const next = drained === undefined ? random.pick(BACKENDS) : undefined;
        const [name, clusterStatus] = next === undefined ? [drained, 'Enabled'] : [next, 'Maintenance'];
        if (name !== undefined)
          await hub.patch(DiscoveryBackend, backendRef(name), 'merge', { spec: { clusterStatus } });
        drained = next;
        return;
      }
      const backend = random.pick(BACKENDS);
      const client = remotes[backend];
      const pool = pools[backend];
      const { index, isPresent } = pool.pick(random);
      const name = `extra-${index}`;
      if (isPresent && random.chance(0.4)) {
        pool.present.delete(index);
        await remove(client, Service, shopRef(name));
        await remove(client, EndpointSlice, shopRef(name));
        return;
      }
      const addresses = Array.from(
        { length: random.integer(1, 20) },
        (_, at) => `10.${index}.${at}.${random.integer(1, 254)}`,
      );
      await put(client, Service, shopRef(name), { spec: { ports: [{ name: 'http', port: 80 }] } });
      await put(
        client,
        EndpointSlice,
        { ...shopRef(name), labels: { 'kubernetes.io/service-name': name } },
        {
          addressType: 'IPv4',
          ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
          endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
        },
      );
      pool.present.set(index, addresses.length);
    },
    async unsettled() {
      const problems: string[] = [];
      for (const backend of BACKENDS) {
        for (const [index, count] of pools[backend].present) {
          const name = `${backend}-extra-${index}`;
          const { items } = await hub.list(EndpointSlice, {
            namespace: SHOP,
            labelSelector: `kubernetes.io/service-name=${name}`,
          });
          const found = items.reduce((sum, { endpoints }) => sum + (endpoints?.length ?? 0), 0);
          if (found !== count) problems.push(`Service ${name} has ${found} endpoints (${String(count)} expected)`);
        }
        for (const index of pools[backend].absent())
          if ((await hub.find(Service, shopRef(`${backend}-extra-${index}`))) !== undefined)
            problems.push(`Service ${backend}-extra-${index} is still there`);
        const object = (await hub.find(DiscoveryBackend, backendRef(backend))) as Seen | undefined;
        // A route of the demonstration leads to east alone, so that east is never drained of all requests.
        const isDrained = drained === backend && backend !== 'east' ? 'True' : 'False';
        problems.push(...conditionProblem(object, `DiscoveryBackend ${backend}`, 'Drained', isDrained));
      }
      const actual = await weights();
      for (const backend of BACKENDS) {
        const isFullHere = drained === undefined;
        if (isFullHere && actual[backend] !== ORIGINAL[backend])
          problems.push(`the weight of ${backend} is ${actual[backend]} (${ORIGINAL[backend]} expected)`);
        if (drained === backend && actual[backend] !== 0)
          problems.push(`the weight of ${backend} is ${actual[backend]} while it is drained`);
      }
      return problems;
    },
    async broken() {
      const { east, west } = await weights();
      return east + west > 0 ? [] : ['no backend of shop/web has a weight'];
    },
  };
}
