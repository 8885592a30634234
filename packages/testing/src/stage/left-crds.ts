// Custom kinds on a real server that several stages use one after the other. A real server takes a second to serve a new kind,
// and lets the client that creates the first object wait for two more. So kinds are left in place from one stage to the next,
// without objects: the operators' own ones, and those that a test creates, which are then only claimed by the next test that
// creates the same. A kind that no test has claimed when the program starts is removed: the program never sees it. One that
// was changed after it was created is not left.
import {
  type ApiRequest,
  type ApiResponse,
  type Client,
  CustomResourceDefinition,
  equal,
  isNotFound,
  sleep,
  systemClock,
  type Transport,
} from '@capstan/kube';
import { TestingErrors } from '../errors.ts';
import { emptyCluster } from './empty-cluster.ts';

/** The CRDs that stages have created on one server. It lives as long as the server. */
export type LeftCrds = Map<string, Left>;

interface Left {
  /** As it was sent. */
  readonly crd: CustomResourceDefinition;
  readonly uid: string | undefined;
  readonly generation: number | undefined;
}

export interface StageCrds {
  /** The same transport for the test: once a kind is created or changed, exactly its versions are served when the answer is there. */
  serving(inner: Transport): Transport;
  /** Removes the kinds that no test has claimed. */
  begin(): Promise<void>;
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const POLL_MS = 20;
const SERVE_MS = 20_000;

/** Empties the server, and makes it serve exactly these kinds, and those that the test adds. */
export async function openCrds(
  client: Client,
  left: LeftCrds,
  wanted: readonly CustomResourceDefinition[],
): Promise<StageCrds> {
  const unchanged = await unchangedOf(client, left);
  for (const name of left.keys()) if (!unchanged.has(name)) left.delete(name);
  await emptyCluster(client, (name) => unchanged.has(name));
  /** Left by stages before this one, and not claimed yet. */
  const unclaimed = new Set(unchanged);

  /** Whether the kind is there as it should be; if it is another one, it is removed. */
  const claim = async (crd: CustomResourceDefinition): Promise<boolean> => {
    const { name = '' } = crd.metadata;
    if (!unclaimed.has(name)) return false;
    if (!equal(left.get(name)?.crd, crd)) {
      await discard([name]);
      return false;
    }
    unclaimed.delete(name);
    return true;
  };
  const discard = async (names: readonly string[]) => {
    for (const name of names) {
      unclaimed.delete(name);
      left.delete(name);
    }
    await Promise.all(names.map((name) => remove(client, name)));
  };
  const created = async (sent: CustomResourceDefinition, { metadata }: CustomResourceDefinition) => {
    const { name = '', uid, generation } = metadata;
    await untilServed(client, name);
    left.set(name, { crd: sent, uid, generation });
  };
  await Promise.all(
    wanted.map(async (crd) => {
      if (!(await claim(crd))) await created(crd, await client.create(CustomResourceDefinition, crd));
    }),
  );

  const create = async (request: ApiRequest, inner: Transport): Promise<ApiResponse> => {
    const crd = request.body as CustomResourceDefinition;
    if (await claim(crd)) {
      const found = await inner.request({ method: 'GET', path: `${CRDS}/${crd.metadata.name ?? ''}` });
      return { ...found, status: 201 };
    }
    const answer = await inner.request(request);
    if (answer.status === 201) await created(crd, answer.body as CustomResourceDefinition);
    return answer;
  };
  return {
    serving: (inner) => ({
      ...inner,
      async request(request) {
        const { method, path, query = {} } = request;
        if (method === 'POST' && path === CRDS && query['dryRun'] === undefined) return create(request, inner);
        // Another client sees only the CRDs of this stage.
        if (path.startsWith(CRDS)) await discard([...unclaimed]);
        const answer = await inner.request(request);
        const isChange = path.startsWith(`${CRDS}/`) && (method === 'PUT' || method === 'PATCH');
        if (isChange && answer.status === 200 && query['dryRun'] === undefined)
          await untilServed(client, (answer.body as CustomResourceDefinition).metadata.name ?? '');
        return answer;
      },
    }),
    begin: () => discard([...unclaimed]),
  };
}

/** Names of those that have not been changed or removed since. */
async function unchangedOf(client: Client, left: LeftCrds): Promise<ReadonlySet<string>> {
  const { items } = await client.list(CustomResourceDefinition);
  const unchanged = items.filter(({ metadata: { name = '', uid, generation, deletionTimestamp } }) => {
    const found = left.get(name);
    return deletionTimestamp === undefined && found?.uid === uid && found?.generation === generation;
  });
  return new Set(unchanged.map(({ metadata }) => metadata.name ?? ''));
}

async function remove(client: Client, name: string): Promise<void> {
  await client.delete(CustomResourceDefinition, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await until(async () => (await client.find(CustomResourceDefinition, { name })) === undefined, name);
}

async function untilServed(client: Client, name: string): Promise<void> {
  await until(async () => {
    const { spec, status } = await client.get(CustomResourceDefinition, { name });
    const isEstablished = status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True');
    if (!isEstablished) return false;
    // A version is reported as served a moment before it is, and stays served for a moment after its end.
    const checks = spec.versions.map(async (version) => {
      const path = `/apis/${spec.group}/${version.name}/${spec.names.plural}`;
      const answer = await client.request({ method: 'GET', path, query: { limit: '1' } }).catch(() => undefined);
      return (answer?.status === 200) === version.served;
    });
    return (await Promise.all(checks)).every(Boolean);
  }, name);
}

async function until(holds: () => Promise<boolean>, name: string): Promise<void> {
  const end = systemClock.now() + SERVE_MS;
  while (!(await holds())) {
    if (systemClock.now() > end) throw TestingErrors.NotEstablished(name);
    await sleep(systemClock, POLL_MS);
  }
}
