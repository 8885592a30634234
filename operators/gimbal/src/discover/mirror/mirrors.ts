// Mirrors as children known by label: a unit is a Service with its slices, under the key `namespace/name` that the Service has here.
import { EndpointSlice, Endpoints, type KubeObject, Service } from '@capstan/kube/cluster';
import type { LabelledChild, LabelledDefinition, Wanted } from '@capstan/reconcile/contract';
import { BACKEND_LABEL, gimbalLabel, LABEL_FAMILIES } from '../../kinds/group.ts';
import { labelValue } from '../names/discovered-name.ts';
import type { RemoteSide } from '../remote-side.ts';
import { FIELD_MANAGER, isCreatedFor } from './created-by.ts';
import { type CopiedKeys, copiedKeys } from './metadata.ts';
import type { Finding } from './mirror.ts';
import { patchTo } from './patch.ts';
import { addressCount, managedDigest } from './projection.ts';

/** The detail that is kept of a mirror besides its digest. */
export interface MirrorDetail {
  /** Keys that were copied from the source. */
  readonly copied: CopiedKeys;
  readonly addresses: number;
}

export type Mirrored = LabelledChild<MirrorDetail>;

export interface MirrorsOptions<V> {
  backend: string;
  /** True: Endpoints are written. Where they are not, those that Gimbal's own discoverer left are removed all the same. */
  writeEndpoints: boolean;
  remote: Pick<RemoteSide<V>, 'unitOfKey' | 'find'>;
}

export function mirrorsOf<V>({
  backend,
  writeEndpoints,
  remote,
}: MirrorsOptions<V>): LabelledDefinition<V, Finding, MirrorDetail> {
  const value = labelValue(backend);
  return {
    name: backend,
    fieldManager: FIELD_MANAGER,
    tiers: [
      [{ kind: Service }],
      // Endpoints that it may not list are not its own: it is started as one that writes slices alone.
      [{ kind: EndpointSlice }, { kind: Endpoints, optional: !writeEndpoints }],
    ],
    selectors: [
      `${BACKEND_LABEL}=${value}`,
      // Objects of Gimbal's own discoverer under the other family of labels, until they are taken over.
      `${LABEL_FAMILIES[1]}/backend=${value},!${BACKEND_LABEL}`,
    ],
    unitOf,
    digestOf: managedDigest,
    detailOf: (object) => ({
      copied: copiedKeys(object.metadata.annotations) ?? NONE_COPIED,
      addresses: addressCount(object),
    }),
    claimOf(object, wanted) {
      const owner = gimbalLabel(object.metadata.labels, 'backend');
      if (owner === value || isOursWithoutLabel(object, wanted)) return undefined;
      return owner === undefined ? 'no discoverer created it' : `belongs to the backend ${owner}`;
    },
    created: { ruling: '0034-ownership', applies: (object) => isCreatedFor(value, object) },
    patchTo: (wanted, { detail }) => patchTo(wanted, detail.copied),
    unitOfKey: (key) => remote.unitOfKey(key),
    find: (unit, values) => remote.find(unit, values),
    wantedOf,
  };
}

const NONE_COPIED: CopiedKeys = { labels: [], annotations: [] };
const ABSENT: Wanted = { state: 'absent' };
const KEPT: Wanted = { state: 'kept' };

function wantedOf(finding: Finding): Wanted {
  if (finding.state === 'absent') return ABSENT;
  if (finding.state === 'invalid') return finding.keep ? KEPT : ABSENT;
  const { service, slices, endpoints } = finding.mirror;
  return {
    state: 'present',
    children: [
      { kind: Service, object: service },
      ...slices.map((object) => ({ kind: EndpointSlice, object })),
      ...(endpoints === undefined ? [] : [{ kind: Endpoints, object: endpoints }]),
    ],
  };
}

/** A slice names its Service in a label. A slice without the label counts under its own name. */
function unitOf({ kind, metadata: { namespace = '', name = '', labels } }: KubeObject): string {
  return `${namespace}/${kind === 'EndpointSlice' ? (labels?.['kubernetes.io/service-name'] ?? name) : name}`;
}

/** A mirror that lost its label is known by the annotation that only a discoverer writes, and by the service it is of. */
function isOursWithoutLabel({ metadata }: KubeObject, wanted: KubeObject): boolean {
  const { labels, annotations } = metadata;
  if (gimbalLabel(labels, 'backend') !== undefined || copiedKeys(annotations) === undefined) return false;
  const service = gimbalLabel(labels, 'service');
  return service === undefined || service === gimbalLabel(wanted.metadata.labels, 'service');
}
