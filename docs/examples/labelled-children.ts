// Children of something that is no object: every entry of an inventory outside becomes a ConfigMap, known by a label.
import {
  type Client,
  type Clock,
  ConfigMap,
  canonicalJson,
  type KubeObject,
  keyOfObject,
  type Logger,
  sleep,
} from '@capstan/kube';
import {
  createBucket,
  createLabelledChildren,
  createRuntime,
  derivation,
  isMarked,
  type LabelledDefinition,
  operator,
  sink,
  source,
} from '@capstan/reconcile';

const LABEL = 'example.capstan.dev/inventory';
const MARK = 'example.capstan.dev/created';
const MANAGER = 'inventory-example';
const EVERY_MS = 30_000;

/** The text of an entry; undefined: the inventory does not have it. */
type Entry = string | undefined;

const entries: LabelledDefinition<Entry, { unit: string; text: Entry }, undefined> = {
  name: 'inventory',
  tiers: [[{ kind: ConfigMap }]],
  selectors: [`${LABEL}=main`],
  fieldManager: MANAGER,
  unitOf: keyOfObject,
  // Compare our part alone: fields that the server fills in, or that users add, are no difference.
  digestOf: (object) => canonicalJson([object.metadata.labels?.[LABEL], (object as ConfigMap).data?.['text']]),
  detailOf: () => undefined,
  claimOf: ({ metadata }) => (metadata.labels?.[LABEL] === 'main' ? undefined : 'is not of the inventory'),
  created: { ruling: 'the example', applies: (object) => isMarked(object, { annotation: MARK, managers: [MANAGER] }) },
  patchTo: (wanted) => ({ metadata: { labels: wanted.metadata.labels }, data: (wanted as ConfigMap).data }),
  unitOfKey: (key) => `default/${key}`,
  find: (unit, [first]) => ({ unit, text: first?.[1] }),
  wantedOf: ({ unit, text }) =>
    text === undefined
      ? { state: 'absent' }
      : { state: 'present', children: [{ kind: ConfigMap, object: configMap(unit, text) }] },
};

function configMap(unit: string, text: string): KubeObject {
  const [namespace = '', name = ''] = unit.split('/');
  const metadata = { namespace, name, labels: { [LABEL]: 'main' }, annotations: { [MARK]: 'yes' } };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text } } as KubeObject;
}

export interface InventoryOptions {
  /** Everything that the inventory has; throws when it cannot be read. */
  look(): Promise<Readonly<Record<string, string>>>;
  client: Client;
  clock: Clock;
  random: () => number;
  logger: Logger;
}

/** Keeps a ConfigMap for each entry, until the signal is aborted. */
export async function mirrorInventory(options: InventoryOptions, signal: AbortSignal): Promise<void> {
  const { look, client, clock, random, logger } = options;
  let isLive = false;
  const inventory = source<string>({
    name: 'inventory',
    async open({ table, signal: ends }) {
      for (let known: string[] = []; ; ) {
        // An inventory that cannot be read throws: the rows stay, marked stale, and nothing is written or removed meanwhile.
        const found = await look();
        table.batch(() => {
          for (const [name, text] of Object.entries(found)) table.put(name, text);
          for (const name of known) if (!(name in found)) table.delete(name);
        });
        known = Object.keys(found);
        table.complete();
        await sleep(clock, EVERY_MS, ends);
      }
    },
  });
  const children = createLabelledChildren<Entry, { unit: string; text: Entry }, undefined>({
    definition: entries,
    client,
    clock,
    random,
    logger,
    isLive: () => isLive,
    // There is only one of this program; where there are more, the holder of a lease removes.
    removing: { holds: true, onChange() {} },
    threads: 4,
    bucket: createBucket(clock, 50, 100),
    resyncMs: 1_800_000,
    createsNamespaces: false,
  });
  const mirrors = sink<Entry>({
    name: 'mirrors',
    lease: 'none',
    of: derivation<Entry>({ name: 'entry', compute: ({ key, read }) => read.source(inventory).get(key) }),
    keys: derivation<readonly string[]>({ name: 'names', compute: ({ read }) => read.source(inventory).keys() }),
    open: children.open,
  });
  const state = sink<{ isStale: boolean; completedAt: number }>({
    name: 'state',
    lease: 'none',
    of: derivation({
      name: 'state',
      compute: ({ read }) => ({
        isStale: read.source(inventory).state().isStale,
        completedAt: read.source(inventory).completedAt(),
      }),
    }),
    keys: derivation<readonly string[]>({ name: 'the-inventory', compute: () => [''] }),
    open: () => ({
      take({ changes }) {
        isLive = changes.at(-1)?.after?.isStale === false;
        children.stateChanged();
        // Each poll confirms the removals: the removal of most children waits for two confirmations.
        if (isLive) children.confirmed();
      },
    }),
  });
  const mirroring = operator({ name: 'inventory', kinds: [], reconcilers: [], sinks: [mirrors, state] });
  const runtime = createRuntime({ operators: [mirroring], clock, random, logger });
  runtime.addWorld({ name: '', client });
  await Promise.all([runtime.run(signal), children.run(signal)]);
}
