// The reports of Sesame and its resources for Envoy, for objects of Contour, evaluated without a cluster.
import type { KubeObject } from '@capstan/kube';
import { derivation, evaluate, operator, plan, reconciler } from '@capstan/reconcile';
import { createVirtualClock } from '@capstan/testing';
import { CONTOUR_GROUP } from '../../src/kinds/contour.ts';
import { GROUP } from '../../src/kinds/group.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { extensionServiceStatus } from '../../src/reconcilers/extension-service-status.ts';
import { httpProxyStatus } from '../../src/reconcilers/http-proxy-status.ts';
import { hostKey, routeGraph, SETTINGS } from '../../src/routes/pieces.ts';
import { createAssembly } from '../../src/routing/assembly/assembly.ts';
import type { Piece } from '../../src/routing/assembly/piece.ts';
import { ROUTE_READS } from '../../src/routing/lookup.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { decoded } from '../../src/xds/xds.test-support.ts';
import { NOW } from '../errors/secrets.ts';
import type { Resources } from './contour.ts';

export interface SesamesAnswer {
  readonly resources: Resources;
  /** By `KIND NAMESPACE/NAME`: `valid`, or TYPE/REASON of each error, and of each warning with `warning`. */
  readonly reports: ReadonlyMap<string, readonly string[]>;
}

const PROBE = 'probe';

export function askSesame(
  contours: readonly KubeObject[],
  settings: RoutingSettings,
  hosts: readonly string[],
): SesamesAnswer {
  const objects = [...contours.map(asOurs), probed()];
  const value = derivation<RoutingSettings>({ name: 'settings', compute: () => settings });
  const graph = routeGraph(value);
  const extensions = objects.filter(({ kind }) => kind === 'ExtensionService');
  const keys = [
    SETTINGS,
    ...hosts.map(hostKey),
    ...extensions.map(({ metadata }) => `extension:${metadata.namespace ?? ''}/${metadata.name ?? ''}`),
  ];
  const pieces = new Map<string, Piece>();
  const probe = reconciler({
    name: PROBE,
    resource: HTTPProxy,
    reads: ROUTE_READS.filter((read) => read !== HTTPProxy),
    reconcile({ object, read }) {
      if (object.metadata.namespace === PROBE) for (const key of keys) pieces.set(key, read.derived(graph.pieces, key));
      return plan({});
    },
  });
  const evaluations = evaluate({
    operator: operator({
      name: 'test',
      kinds: [],
      reconcilers: [httpProxyStatus({ graph }), extensionServiceStatus({ graph }), probe],
    }),
    objects,
    clock: createVirtualClock({ start: NOW }),
  });
  const reports = new Map<string, readonly string[]>();
  for (const { reconciler: found, key, plan: settled } of evaluations) {
    if (found.name === PROBE) continue;
    if (settled.state !== 'value') throw new Error(`${found.name} of ${key} is ${settled.state}`);
    reports.set(`${found.resource.kind} ${key}`, reportsOf(settled.value));
  }
  return { resources: resourcesOf(pieces), reports };
}

/** The object that Sesame sees with --contour-compat. */
function asOurs(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown };
  return { ...rest, apiVersion: object.apiVersion.replace(CONTOUR_GROUP, GROUP) };
}

function probed(): KubeObject {
  const metadata = { namespace: PROBE, name: PROBE };
  return { apiVersion: HTTPProxy.apiVersion, kind: 'HTTPProxy', metadata, spec: {} } as KubeObject;
}

interface Details {
  readonly errors?: readonly { readonly type: string; readonly reason: string }[];
  readonly warnings?: readonly { readonly type: string; readonly reason: string }[];
}

export function reportLines({ errors = [], warnings = [] }: Details): string[] {
  const line = ({ type, reason }: { readonly type: string; readonly reason: string }) => `${type}/${reason}`;
  return [...new Set([...errors.map(line), ...warnings.map((each) => `warning ${line(each)}`)])].toSorted();
}

function reportsOf(planned: object): string[] {
  const { conditions = [] } = planned as { readonly conditions?: readonly { readonly details?: Details }[] };
  return conditions.flatMap(({ details }) => reportLines(details ?? {}));
}

function resourcesOf(pieces: ReadonlyMap<string, Piece>): Resources {
  const own = pieces.get(SETTINGS);
  if (!own?.settings) throw new Error('there are no settings');
  const changes = [...pieces].filter(([key]) => key !== SETTINGS).map(([key, after]) => ({ key, after }));
  const assembled = createAssembly(own.settings, own.authorization).take(changes);
  const found = new Map<string, Map<string, { readonly [field: string]: unknown }>>();
  for (const resource of assembled.values()) {
    if (!resource || !['lds', 'rds', 'cds'].includes(resource.type)) continue;
    const of = found.get(resource.type) ?? new Map<string, { readonly [field: string]: unknown }>();
    found.set(
      resource.type,
      of.set(resource.name, decoded(resource.type, resource) as { readonly [field: string]: unknown }),
    );
  }
  return found;
}
