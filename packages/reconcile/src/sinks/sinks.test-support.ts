import { conditions, defineKind, type KindOf, object, optional, Service, string } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { derivation } from '../read/index.ts';
import { reconciler } from '../reconciler.ts';
import { type SinkBatch, type SinkContext, type SinkDefinition, type SinkResult, sink } from './sink.ts';

export const Site = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ host: string(), service: optional(string()) }),
  status: object({ conditions: conditions(), seen: optional(string()), delivery: optional(string()) }),
});

export type Site = KindOf<typeof Site>;

export const site = (name: string, host: string, service?: string): Site => ({
  apiVersion: Site.apiVersion,
  kind: 'Site',
  metadata: { namespace: 'default', name },
  spec: { host, ...(service === undefined ? {} : { service }) },
});

export const ref = (name: string) => ({ namespace: 'default', name });

export const hostOf = ({ spec }: Site) => spec.host;

/** By object: `host service-type`; throws for the host `bad`, waits for nothing. */
const route = derivation<string>({
  name: 'route',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const found = read.get(Site, { namespace, name }, ({ spec }) => spec);
    if (found?.host === 'bad') throw new Error('the host is bad');
    const type = found?.service === undefined ? '' : read.get(Service, ref(found.service), ({ spec }) => spec?.type);
    return `${found?.host ?? 'none'}${type ? ` ${type}` : ''}`;
  },
});

/** A test's view of a sink, and its means to make it fail. */
interface Seen {
  readonly batches: string[];
  context: SinkContext<string, string> | undefined;
  /** Instead of accepting. */
  answer: (batch: SinkBatch<string>) => void | SinkResult | Promise<void | SinkResult>;
}

export function recorded(definition: Partial<SinkDefinition<string, string>> = {}) {
  const seen: Seen = { batches: [], context: undefined, answer: () => {} };
  const routes = sink<string, string>({
    name: 'routes',
    of: route,
    keys: Site,
    reads: [Site, Service],
    lease: 'none',
    open(context) {
      seen.context = context;
      return {
        take(batch) {
          const lines = batch.changes.map(
            ({ key, before, after }) => `${key.split('/')[1]}: ${before ?? '-'} → ${after ?? '-'}`,
          );
          const head = `${batch.snapshot ? 'snapshot ' : ''}${batch.withdrawal ? 'withdrawal ' : ''}`;
          seen.batches.push(`${head}${lines.toSorted().join(', ')}`);
          return seen.answer(batch);
        },
      };
    },
    ...definition,
  });
  const status = reconciler<Site>({
    name: 'status',
    resource: Site,
    reconcile({ object: { metadata }, read }) {
      const view = read.sink(routes);
      const key = `${metadata.namespace}/${metadata.name}`;
      const { state, failures } = view.state(key);
      const seenThere = view.report(key);
      return plan({
        status: {
          delivery: `${state}${failures > 0 ? ` ${failures}` : ''}`,
          ...(seenThere ? { seen: seenThere } : {}),
        },
      });
    },
  });
  return {
    seen,
    routes,
    operators: [operator({ name: 'ingress', kinds: [Site], reconcilers: [status], sinks: [routes] })],
  };
}

export async function staged(
  given: readonly Site[],
  check: (stage: Stage, seen: Seen) => Promise<void>,
  definition: Partial<SinkDefinition<string, string>> = {},
  more: Partial<Parameters<typeof createStage>[0]> = {},
): Promise<void> {
  const { seen, operators } = recorded(definition);
  const stage = await createStage({
    operators,
    given: async (client) => {
      for (const one of given) await client.create(Site, one);
    },
    ...more,
  });
  try {
    await check(stage, seen);
  } finally {
    await stage.end();
  }
}

export const edit = async (stage: Stage, name: string, host: string) => {
  await stage.client.patch(Site, ref(name), 'merge', { spec: { host } });
  await stage.settle();
};

export const deliveryOf = async (stage: Stage, name: string) =>
  (await stage.client.get(Site, ref(name))).status?.delivery;
