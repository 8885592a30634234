// An API server of bytes: lists that were encoded beforehand, and watches into which the measurement writes events. The measurement covers
// everything from the bytes on, over a real connection on loopback, and nothing of a server.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  connectKubeconfig,
  type Kind,
  type KubeObject,
  silentLogger,
  systemClock,
  type Transport,
} from '@capstan/kube';

export interface PreparedServer {
  readonly transport: Transport;
  /** Sends one event to the watches of a kind. */
  send(kind: Kind, object: KubeObject): void;
  close(): Promise<void>;
}

export async function startPreparedServer(
  objects: readonly { kind: Kind; objects: readonly KubeObject[] }[],
): Promise<PreparedServer> {
  const lists = new Map(objects.map(({ kind, objects: all }) => [pathOf(kind), encoded(kind, all)]));
  const streams = new Map(objects.map(({ kind, objects: all }) => [pathOf(kind), streamed(kind, all)]));
  const watches = new Map<string, Set<ServerResponse>>();
  let revision = 1_000_000;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const list = lists.get(pathname);
    response.setHeader('content-type', 'application/json');
    if (list === undefined) {
      response.statusCode = 404;
      response.end('{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}');
    } else if (searchParams.get('watch') === null) response.end(list);
    else {
      response.flushHeaders();
      if (searchParams.get('sendInitialEvents') === 'true') response.write(streams.get(pathname));
      const open = watches.get(pathname) ?? new Set();
      watches.set(pathname, open.add(response));
      response.on('close', () => open.delete(response));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = await connectKubeconfig(kubeconfig(port), {
    name: 'the benchmark',
    clock: systemClock,
    logger: silentLogger,
  });
  return {
    transport,
    send(kind, object) {
      const metadata = { ...object.metadata, resourceVersion: String(++revision) };
      const line = `${JSON.stringify({ type: 'MODIFIED', object: { ...object, metadata } })}\n`;
      for (const response of watches.get(pathOf(kind)) ?? []) response.write(line);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pathOf({ group, version, plural }: Kind): string {
  return group === '' ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;
}

function stored({ kind }: Kind, objects: readonly KubeObject[]): KubeObject[] {
  return objects.map((object, at) => ({
    ...object,
    metadata: { ...object.metadata, uid: `${kind}-${at}`, resourceVersion: String(at + 1) },
  }));
}

/** A list as a watch that begins with everything there is. */
function streamed(kind: Kind, objects: readonly KubeObject[]): Buffer {
  const end = {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { resourceVersion: '1000000', annotations: { 'k8s.io/initial-events-end': 'true' } },
  };
  const events = [
    ...stored(kind, objects).map((object) => ({ type: 'ADDED', object })),
    { type: 'BOOKMARK', object: end },
  ];
  return Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

function encoded(kind: Kind, objects: readonly KubeObject[]): Buffer {
  const { apiVersion } = kind;
  const items = stored(kind, objects);
  return Buffer.from(
    JSON.stringify({ apiVersion, kind: `${kind.kind}List`, metadata: { resourceVersion: '1000000' }, items }),
  );
}

function kubeconfig(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}
