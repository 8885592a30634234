// Children known by label on a cluster of their own: ConfigMaps with a Secret behind each, whose source is a map. Only *.test.ts import it.
import {
  type Client,
  ConfigMap,
  createClient,
  type Kind,
  type KubeObject,
  keyOf,
  refOfKey,
  Secret,
  silentLogger,
  type Transport,
} from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, recordingTransport } from '@capstan/testing';
import { isMarked } from '../ownership/index.ts';
import { createBucket } from '../queue/index.ts';
import type { LabelledChildren, LabelledDefinition, Obstacle, Wanted } from './definition.ts';
import { createLabelledChildren } from './labelled-children.ts';

export const LABEL = 'example.com/source';
export const MARK = 'example.com/created';
export const MANAGER = 'example-program';
/** The content of a key in the source; undefined: the source does not have it. */
export type Said = string | undefined;

export function definition(value: string): LabelledDefinition<string, Said, undefined> {
  return {
    name: value,
    tiers: [[{ kind: ConfigMap }], [{ kind: Secret }]],
    selectors: [`${LABEL}=${value}`],
    fieldManager: MANAGER,
    unitOf: ({ metadata }) => keyOf({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' }),
    digestOf: (object) => JSON.stringify([object.metadata.labels?.[LABEL], contentOf(object)]),
    detailOf: () => undefined,
    claimOf({ metadata: { labels } }) {
      return labels?.[LABEL] === value ? undefined : 'is not of this source';
    },
    created: { ruling: 'a test', applies: (object) => isMarked(object, { annotation: MARK, managers: [MANAGER] }) },
    patchTo: ({ metadata, ...content }) => ({
      ...content,
      metadata: { labels: metadata.labels, annotations: metadata.annotations },
    }),
    unitOfKey: (key) => key,
    find: (_unit, [first]) => first?.[1],
    wantedOf: () => ({ state: 'absent' }),
  };
}

export interface Stage {
  readonly client: Client;
  readonly clock: ReturnType<typeof createVirtualClock>;
  start(options?: StartOptions): Started;
}

export interface StartOptions {
  value?: string;
  said?: Record<string, string>;
  transport?: (inner: Transport) => Transport;
  isRemoving?: boolean;
  createsNamespaces?: boolean;
}

export interface Started {
  readonly children: LabelledChildren<string>;
  /** The sent requests as `METHOD /path`, in order. */
  readonly sent: readonly string[];
  readonly obstacles: Map<string, Obstacle>;
  clear(): void;
  /** From now on the source has these. */
  say(said: Record<string, string>): Promise<void>;
  live(isLive: boolean): Promise<void>;
  remove(holds: boolean): Promise<void>;
  stop(): Promise<void>;
}

/** Runs a check on a cluster of its own, and stops everything that it started. */
export async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  const cluster = await createTestCluster({ clock, random: createRandom(1) });
  const running = new Set<Started>();
  const start = (options: StartOptions = {}): Started => {
    const { value = 'east' } = options;
    const sent = recordingTransport((options.transport ?? ((inner) => inner))(cluster.transport()));
    const current = new Map<string, { value: string; version: string }>();
    const state = { isLive: true, isRemoving: options.isRemoving ?? true };
    const listeners: ((holds: boolean) => void)[] = [];
    const obstacles = new Map<string, Obstacle>();
    const common = { clock, random: createRandom(2), logger: silentLogger };
    const children = createLabelledChildren<string, Finding, undefined>({
      ...common,
      definition: {
        ...definition(value),
        find: (unit, [first]) => ({ unit, said: first?.[1] }),
        wantedOf: ({ unit, said }) => wantedOf(value, unit, said),
      },
      client: createClient({ ...common, transport: sent }),
      isLive: () => state.isLive,
      removing: {
        get holds() {
          return state.isRemoving;
        },
        onChange: (listener) => void listeners.push(listener),
      },
      threads: 2,
      bucket: createBucket(clock, 1000, 1000),
      resyncMs: 3_600_000,
      createsNamespaces: options.createsNamespaces ?? false,
      observe: {
        settled(unit, _finding, obstacle) {
          if (obstacle === undefined) obstacles.delete(unit);
          else obstacles.set(unit, obstacle);
        },
      },
    });
    const session = children.open({ current: () => current });
    const deliver = (said: Record<string, string>, snapshot: boolean) => {
      const keys = new Set([...current.keys(), ...Object.keys(said)]);
      const changes = [...keys].flatMap((key) => {
        const [before, after] = [current.get(key)?.value, said[key]];
        if (after === undefined) current.delete(key);
        else current.set(key, { value: after, version: after });
        return before === after ? [] : [{ key, before, after }];
      });
      session.take({
        changes,
        snapshot,
        withdrawal: false,
        generation: 1,
        signal: stopping.signal,
      });
    };
    const stopping = new AbortController();
    const done = children.run(stopping.signal);
    deliver(options.said ?? {}, true);
    const started: Started = {
      children,
      sent: sent.requests,
      obstacles,
      clear: () => sent.clear(),
      async say(said) {
        deliver(said, false);
        await clock.advance(100);
      },
      async live(isLive) {
        state.isLive = isLive;
        children.stateChanged();
        await clock.advance(100);
      },
      async remove(holds) {
        state.isRemoving = holds;
        for (const listener of listeners) listener(holds);
        await clock.advance(100);
      },
      async stop() {
        running.delete(started);
        stopping.abort();
        await clock.settle();
        await done;
      },
    };
    running.add(started);
    return started;
  };
  try {
    await check({ client: cluster.client, clock, start });
  } finally {
    for (const each of running) await each.stop();
    await cluster.close();
  }
}

interface Finding {
  readonly unit: string;
  readonly said: Said;
}

export const KEPT = 'kept';

/** `kept` stands for content that is not known. */
function wantedOf(value: string, unit: string, said: Said): Wanted {
  if (said === undefined) return { state: 'absent' };
  if (said === KEPT) return { state: 'kept' };
  return {
    state: 'present',
    children: [
      { kind: ConfigMap, object: child(ConfigMap, value, unit, { data: { said } }) },
      { kind: Secret, object: child(Secret, value, unit, { data: { said: btoa(said) } }) },
    ],
  };
}

export function child(kind: Kind, value: string, unit: string, content: object): KubeObject {
  const { apiVersion } = kind;
  const metadata = { ...refOfKey(unit), labels: { [LABEL]: value }, annotations: { [MARK]: 'yes' } };
  return { apiVersion, kind: kind.kind, metadata, ...content };
}

function contentOf(object: KubeObject): unknown {
  return (object as { data?: Record<string, string> }).data?.['said'];
}

/** `namespace/name` of the ConfigMaps of a source, in order. */
export async function found(client: Client, value = 'east'): Promise<string[]> {
  const { items } = await client.list(ConfigMap, { labelSelector: `${LABEL}=${value}` });
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted();
}
