// The operations on a pod besides writing it: bind it to a node, evict it, read its output.
import type { ApiRequest, ApiResponse, Pod, PodCondition, PodDisruptionBudget, UnknownObject } from '@capstan/kube';
import { type Core, type RequestContext, timestamp } from '../core.ts';
import {
  badRequest,
  conflict,
  fieldNotSupported,
  fieldRequired,
  invalid,
  methodNotAllowed,
  StatusError,
  tooManyEvictions,
} from '../errors.ts';
import { textAt } from '../json/copy.ts';
import { nameOf } from '../resources/resource.ts';
import { STREAMS } from '../streams/pod-connection.ts';
import { selects } from '../validation/rules.ts';
import { admissionRequest } from './admission-request.ts';
import { stored } from './create.ts';
import { bodyOf, decodeObject } from './decode.ts';
import { checkDeletion, type DeleteOptions, deleteObject, deleteOptions } from './delete.ts';
import { isTrue, type WriteOptions } from './options.ts';
import { existing, keyFor, type Target } from './target.ts';
import { changeObject } from './update.ts';

/** The part of a container's output that a client requests. */
export interface LogOptions {
  /** Goes on as long as the container runs. Default false. */
  follow?: boolean;
  /** The last so many lines; default all. */
  tailLines?: number;
  /** Only output since this time, in milliseconds since the epoch. */
  since?: number;
  /** The output of the former container. Default false. */
  previous?: boolean;
  /** Each line with its time. Default false. */
  timestamps?: boolean;
  /** At most so many bytes. */
  limitBytes?: number;
  signal?: AbortSignal;
}

/** Reads the output of a container, in pieces of whole lines. The pod runner provides it. */
export type ReadLogs = (
  namespace: string,
  pod: string,
  container: string | undefined,
  options: LogOptions,
) => Promise<AsyncIterable<string>>;

export const POD_SUBRESOURCES: ReadonlySet<string> = new Set(['binding', 'eviction', 'log', ...STREAMS]);

export interface PodRequest {
  target: Target;
  request: ApiRequest;
  context: RequestContext;
  options: () => WriteOptions;
}

/** Answers a request for one of the subresources above. */
export async function podSubresource(
  core: Core,
  readLogs: ReadLogs | undefined,
  asked: PodRequest,
): Promise<ApiResponse> {
  const { target, request } = asked;
  if (target.subresource === 'log') {
    if (request.method !== 'GET') throw methodNotAllowed();
    return logs(core, readLogs, asked);
  }
  if (STREAMS.has(target.subresource)) {
    existing(core, target);
    throw badRequest('Upgrade request required');
  }
  if (request.method !== 'POST') throw methodNotAllowed();
  return target.subresource === 'binding' ? bind(core, asked) : evict(core, asked);
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

async function bind(core: Core, asked: PodRequest): Promise<ApiResponse> {
  const { target, context } = asked;
  const { dryRun, fieldManager } = asked.options();
  const binding = posted(asked);
  const { uid = '' } = binding.metadata;
  existing(core, target);
  const kind = textAt(binding, ['target', 'kind']);
  const node = textAt(binding, ['target', 'name']);
  const errors = [
    ...(kind === '' || kind === 'Node' ? [] : [fieldNotSupported('target.kind', kind, ['Node', '<empty>'])]),
    ...(node === '' ? [fieldRequired('target.name')] : []),
  ];
  if (errors.length > 0) throw invalid({ group: '', kind: 'Binding' }, target.name, errors);
  await admitted(core, asked, binding);
  await changeObject(core, target, { dryRun, context, conditional: false, isAdmitted: true }, (live) => {
    const pod = live as Pod;
    if (uid !== '' && uid !== live.metadata.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`;
      throw conflict(nameOf(target.resource), target.name, why);
    }
    const refuse = (why: string) => conflict({ group: '', resource: 'pods/binding' }, target.name, why);
    if (live.metadata.deletionTimestamp !== undefined) {
      throw refuse(`pod ${target.name} is being deleted, cannot be assigned to a host`);
    }
    if (pod.spec?.nodeName) {
      throw refuse(`pod ${target.name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
    }
    if ((pod.spec?.schedulingGates ?? []).length > 0) {
      throw refuse(`pod ${target.name} has non-empty .spec.schedulingGates`);
    }
    const scheduled: PodCondition = {
      type: 'PodScheduled',
      status: 'True',
      lastTransitionTime: timestamp(core.clock),
    };
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
    const object: UnknownObject = {
      ...live,
      spec: { ...pod.spec, nodeName: node },
      status: { ...pod.status, conditions: [...others, scheduled] },
    };
    return {
      object,
      track: (next) => core.fields.updating({ target, live, object: next, manager: fieldManager }),
    };
  });
  return { status: 201, headers: JSON_HEADERS, body: SUCCESS };
}

/** The body as the kind that the subresource takes. */
function posted({ target, request, context, options }: PodRequest): UnknownObject {
  const body = bodyOf(target.version, target.subresource);
  if (!body) throw methodNotAllowed();
  // Older clients evict by the version before.
  const isOlder =
    textAt(request.body, ['apiVersion']) === 'policy/v1beta1' && textAt(request.body, ['kind']) === 'Eviction';
  const version = isOlder ? { ...body.version, name: 'v1beta1' } : body.version;
  const read = { ...target, resource: body.resource, version };
  const object = decodeObject(read, request.body, options(), context.warnings ?? new Set());
  if (object.metadata.name === target.name) return isOlder ? { ...object, apiVersion: 'policy/v1' } : object;
  throw badRequest(`name in URL does not match name in ${body.resource.kind} object`);
}

/** Runs admission on the posted object. It is never stored, so changes to it do not count. */
async function admitted(core: Core, { target, context, options }: PodRequest, object: UnknownObject): Promise<void> {
  const asked = admissionRequest(target, 'CREATE', { object, options: options(), context });
  await core.admission?.(asked);
  await core.validatingAdmission?.(asked);
}

const BUDGETS = 'policy/poddisruptionbudgets';

/** A deletion that asks the budgets first. */
async function evict(core: Core, asked: PodRequest): Promise<ApiResponse> {
  const { target, request, context } = asked;
  const eviction = posted(asked);
  existing(core, target);
  await admitted(core, asked, eviction);
  const pod = existing(core, target) as Pod;
  const options = deleteOptions(eviction['deleteOptions'], request.query ?? {});
  const isOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' || pod.status?.phase === 'Pending';
  if (!isOver && pod.metadata.deletionTimestamp === undefined) {
    const budgets = core.store
      .list(BUDGETS, `${target.namespace}/`)
      .map(({ object }) => object as PodDisruptionBudget)
      .filter(({ spec }) => spec?.selector && selects(spec.selector, pod.metadata.labels) === true);
    const empty = budgets.find(({ status }) => (status?.disruptionsAllowed ?? 0) < 1);
    if (empty) throw tooManyEvictions(empty.metadata.name ?? '');
  }
  const whole = { ...target, subresource: '' };
  const marked = options.dryRun ? options : markEvicted(core, whole, options);
  await deleteObject(core, whole, marked, context, true);
  return { status: 201, headers: JSON_HEADERS, body: SUCCESS };
}

/** Writes on a pod why it goes; returns the options for its deletion, which are about the pod as it is now. */
function markEvicted(core: Core, target: Target, options: DeleteOptions): DeleteOptions {
  const object = existing(core, target);
  // An empty uid is only noticed when the pod is to be deleted.
  checkDeletion(target, object, { ...options, uid: options.uid || undefined });
  const { status } = object as Pod;
  const conditions = status?.conditions ?? [];
  if (conditions.some((one) => one.reason === EVICTED.reason && one.status === 'True')) return options;
  const others = conditions.filter(({ type }) => type !== EVICTED.type);
  const condition = { ...EVICTED, lastTransitionTime: timestamp(core.clock) };
  const next = { ...object, status: { ...status, conditions: [...others, condition] } };
  const { resourceVersion } = core.store.put(target.resource.storageKey, keyFor(target), stored(target, next)).metadata;
  return options.resourceVersion === undefined ? options : { ...options, resourceVersion };
}

const EVICTED: PodCondition = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
};

async function logs(core: Core, readLogs: ReadLogs | undefined, { target, request }: PodRequest): Promise<ApiResponse> {
  const { namespace, name } = target;
  existing(core, target);
  const { query = {}, signal } = request;
  if (!readLogs) throw badRequest(`the logs of pod "${name}" are not available: nothing on this server runs pods`);
  const number = (field: string) => (query[field] === undefined ? undefined : Number(query[field]));
  const tailLines = number('tailLines');
  const limitBytes = number('limitBytes');
  const sinceSeconds = number('sinceSeconds');
  const since =
    sinceSeconds === undefined ? Date.parse(query['sinceTime'] ?? '') : core.clock.now() - sinceSeconds * 1000;
  const options: LogOptions = {
    follow: isTrue(query, 'follow'),
    previous: isTrue(query, 'previous'),
    timestamps: isTrue(query, 'timestamps'),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(!Number.isNaN(since) && { since }),
    ...(signal && { signal }),
  };
  try {
    const body = await readLogs(namespace, name, query['container'], options);
    return { status: 200, headers: { 'content-type': 'text/plain' }, body };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}
