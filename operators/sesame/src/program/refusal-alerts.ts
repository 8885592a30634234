// An Event on each object whose resources an Envoy refuses, for kinds that have no status of Sesame's: Services, Secrets and routes of
// Gateways.
import { type KubeObject, Secret, Service } from '@capstan/kube';
import { derivation, type EventInput, type Reader, type Sink, sink } from '@capstan/reconcile';
import type { IngressComponents } from '../routes/ingress-components.ts';
import { ROUTE_READS } from '../routing/lookup.ts';

interface Alert {
  readonly owner: KubeObject;
  readonly note: string;
}

/** These have a status, or alerts of their own. */
const REPORTED = new Set(['HTTPProxy', 'Ingress', 'ExtensionService']);

export function refusalAlerts(
  xds: IngressComponents['xds'],
  notify: (owner: KubeObject, event: EventInput) => void,
): Sink<readonly Alert[]> {
  return sink<readonly Alert[]>({
    name: 'refusal-alerts',
    of: derivation<readonly Alert[]>({ name: 'refusal-alerts', compute: ({ read }) => alertsOf(read, xds) }),
    keys: derivation<readonly string[]>({ name: 'refusal-alerts-key', compute: () => [''] }),
    reads: ROUTE_READS,
    lease: 'none',
    open: () => ({
      take({ changes }) {
        for (const { before, after } of changes)
          for (const alert of after ?? [])
            if (!before?.some(({ owner, note }) => note === alert.note && isSameOwner(owner, alert.owner)))
              notify(alert.owner, { type: 'Warning', reason: 'RefusedByEnvoy', note: alert.note });
      },
    }),
  });
}

function alertsOf(read: Reader, xds: IngressComponents['xds']): Alert[] {
  return read
    .sink(xds)
    .reports()
    .flatMap(({ row }) =>
      row.rejections.flatMap(({ message, origins }) =>
        origins.flatMap((origin) => {
          const owner = ownerOf(read, origin);
          return owner ? [{ owner, note: `${row.node}: ${message.trim()}`.slice(0, MAX_NOTE) }] : [];
        }),
      ),
    );
}

/** Longer notes are refused by the server. */
const MAX_NOTE = 1_000;

function ownerOf(read: Reader, origin: string): KubeObject | undefined {
  const [, kind = '', namespace = '', name = ''] = /^(\w+) ([^/]*)\/(.*)$/.exec(origin) ?? [];
  if (kind === '' || REPORTED.has(kind)) return undefined;
  if (kind === 'Service') return read.get(Service, { namespace, name }, serviceIdentity);
  if (kind === 'Secret') return read.get(Secret, { namespace, name }, secretIdentity);
  return { apiVersion: 'gateway.networking.k8s.io/v1', kind, metadata: { namespace, name } };
}

/** Objects of a list have no kind of their own. */
const identityOf =
  (kind: string) =>
  ({ metadata: { namespace, name, uid } }: KubeObject): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { namespace, name, uid },
  });

const serviceIdentity = identityOf('Service');
const secretIdentity = identityOf('Secret');

function isSameOwner(left: KubeObject, right: KubeObject): boolean {
  return (
    left.kind === right.kind &&
    left.metadata.namespace === right.metadata.namespace &&
    left.metadata.name === right.metadata.name
  );
}
