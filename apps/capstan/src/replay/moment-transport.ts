// The local cluster as a recording has it at one moment, as a server that only reads: commands that take a cluster answer for that moment.
import {
  type ApiRequest,
  type ApiResponse,
  type Kind,
  type KubeObject,
  kindId,
  parseFieldSelector,
  parseLabelSelector,
  type Transport,
  untilAborted,
  type WatchEvent,
} from '@capstan/kube';
import type { Replay } from '@capstan/reconcile';

const VERSION = '1';

export function momentTransport(replay: Replay): Transport {
  let content = contentOf(replay);

  /** The content at the wave of the replay, which may go on. */
  function present(): Content {
    if (content.wave !== replay.wave) content = contentOf(replay);
    return content;
  }

  function found({
    path,
    query = {},
  }: ApiRequest): { kind: Kind; items: readonly KubeObject[]; name?: string } | undefined {
    const place =
      /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/[^/]+))?\/([^/]+)(?:\/([^/]+))?/.exec(path);
    if (place === null) return undefined;
    const [, root = '', namespace, plural = '', name] = place.map((part) => part && decodeURIComponent(part));
    const { byPath, objects } = present();
    const kind = byPath.get(`${root}/${plural}`);
    if (kind === undefined) return undefined;
    const labels = query['labelSelector'] === undefined ? undefined : parseLabelSelector(query['labelSelector']);
    const fields = query['fieldSelector'] === undefined ? undefined : parseFieldSelector(query['fieldSelector']);
    const items = (objects.get(kindId(kind)) ?? []).filter(
      (object) =>
        (namespace === undefined || object.metadata.namespace === namespace) &&
        (name === undefined || object.metadata.name === name) &&
        (labels?.matches(object.metadata.labels) ?? true) &&
        (fields?.matches((field) => fieldOf(object, field)) ?? true),
    );
    return { kind, items, ...(name !== undefined && { name }) };
  }

  return {
    address: 'the recording',
    request: async (request) => {
      if (request.method !== 'GET') return failure(405, 'MethodNotAllowed', 'a recording cannot be written to');
      if (request.path === '/api' || request.path === '/apis')
        return answer(discovery(present().kinds, request.path === '/api'));
      if (request.path === '/version') return answer({ major: '1', minor: '0', gitVersion: 'v1.0.0' });
      const here = found(request);
      if (here === undefined) return failure(404, 'NotFound', 'the recording has no objects of this kind');
      const { kind, items, name } = here;
      if (name === undefined)
        return answer({
          apiVersion: kind.apiVersion,
          kind: `${kind.kind}List`,
          metadata: { resourceVersion: VERSION },
          items,
        });
      return items[0] === undefined
        ? failure(404, 'NotFound', `${kind.kind} ${name} is not in the recording`)
        : answer(items[0]);
    },
    watch: async (request) => {
      const here = found(request);
      if (here === undefined) return failure(404, 'NotFound', 'the recording has no objects of this kind');
      return events(
        here.kind,
        request.query?.['sendInitialEvents'] === 'true' ? here.items : undefined,
        request.signal,
      );
    },
    close: () => Promise.resolve(),
  };
}

interface Content {
  readonly wave: number;
  readonly kinds: readonly Kind[];
  readonly byPath: ReadonlyMap<string, Kind>;
  readonly objects: ReadonlyMap<string, readonly KubeObject[]>;
}

function contentOf(replay: Replay): Content {
  const world = replay.runtime.worlds.get('');
  const kinds = (world?.kinds ?? []).filter((kind) => world?.access.peek(kindId(kind)) === 'served');
  const byPath = new Map(kinds.map((kind) => [pathOf(kind), kind]));
  return { wave: replay.wave, kinds, byPath, objects: replay.objects('') };
}

/** The path for all namespaces. */
function pathOf({ group, version, plural }: Kind): string {
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}/${plural}`;
}

function fieldOf(object: KubeObject, path: string): string | undefined {
  let value: unknown = object;
  for (const name of path.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** Nothing happens any more. */
async function* events(
  kind: Kind,
  initial: readonly KubeObject[] | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly WatchEvent[]> {
  if (initial !== undefined) {
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const end = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { resourceVersion: VERSION, annotations } };
    yield [...initial.map((object) => ({ type: 'ADDED' as const, object })), { type: 'BOOKMARK', object: end }];
  }
  await (signal === undefined ? new Promise<never>(() => {}) : untilAborted(signal));
}

function discovery(kinds: readonly Kind[], isCore: boolean): object {
  const groups = Map.groupBy(
    kinds.filter(({ group }) => (group === '') === isCore),
    ({ group }) => group,
  );
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    items: [...groups].map(([group, of]) => ({
      metadata: group === '' ? {} : { name: group },
      versions: [...Map.groupBy(of, ({ version }) => version)].map(([version, all]) => ({
        version,
        freshness: 'Current',
        resources: all.map((kind) => ({
          resource: kind.plural,
          responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
          scope: kind.scope,
          singularResource: kind.kind.toLowerCase(),
          shortNames: (kind as Kind & { shortNames?: readonly string[] }).shortNames ?? [],
          verbs: ['get', 'list', 'watch'],
          subresources: kind.hasStatus ? [{ subresource: 'status', verbs: ['get'] }] : [],
        })),
      })),
    })),
  };
}

function answer(body: unknown): ApiResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

function failure(code: number, reason: string, message: string): ApiResponse {
  const body = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', code, reason, message };
  return { status: code, headers: { 'content-type': 'application/json' }, body };
}
