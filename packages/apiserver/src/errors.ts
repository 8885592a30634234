// Every refusal of the API server is a Status, in kube-apiserver's words: clients and people search for them.
import { catalogue } from '@capstan/kube';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string; resourceVersion?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** A refusal: it carries the Status that the client gets. */
export class StatusError extends Error {
  readonly status: Status;
  /** The body in its place, where Kubernetes sends no Status; default none. */
  readonly page: string | undefined;

  constructor(status: Status, page?: string) {
    super(status.message);
    this.name = 'StatusError';
    this.status = status;
    this.page = page;
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

/** A resource as error messages name it. */
export interface ResourceName {
  group: string;
  /** Plural, as in `deployments`. */
  resource: string;
}

/** The code that belongs to a reason. */
const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

/** By its reason, or by a code alone where Kubernetes gives no reason. */
function failure(
  reason: keyof typeof CODES | number,
  message: string,
  details?: StatusDetails,
  more: Partial<Status> = {},
): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(typeof reason === 'string' && { reason }),
    ...(details && { details }),
    code: typeof reason === 'string' ? CODES[reason] : reason,
    ...more,
  });
}

const qualified = ({ group, resource }: ResourceName) => (group === '' ? resource : `${resource}.${group}`);

function detailsOf({ group, resource }: ResourceName, name: string): StatusDetails {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), kind: resource };
}

export const notFound = (resource: ResourceName, name: string) =>
  failure('NotFound', `${qualified(resource)} "${name}" not found`, detailsOf(resource, name));

/** For a path that names nothing that is served. */
export const notServed = () => failure('NotFound', 'the server could not find the requested resource', {});

/** For the target of a proxy. */
export const serviceUnavailable = (message: string) => failure('ServiceUnavailable', message);

export const notImplemented = (message: string) => failure(501, message);

/** For a path with an escape that is none: Go's HTTP server refuses it before any handler is asked. */
export const malformedPath = () =>
  new StatusError(badRequest('the path is not escaped correctly').status, '400 Bad Request');

/** For a path that no group of Kubernetes answers for: Go's own page. */
export const pageNotFound = () => new StatusError(notServed().status, '404 page not found\n');

export const alreadyExists = (resource: ResourceName, name: string, { isDrawn = false, isGoing = false } = {}) =>
  failure(
    'AlreadyExists',
    `${isGoing ? 'object is being deleted: ' : ''}${qualified(resource)} "${name}" already exists${isDrawn ? NOT_UNIQUE : ''}`,
    { ...detailsOf(resource, name), ...(isDrawn && { retryAfterSeconds: 1 }) },
  );

const NOT_UNIQUE = ', the server was not able to generate a unique name for the object';

export const conflict = (resource: ResourceName, name: string, why: string) => {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return failure('Conflict', message, detailsOf(resource, name));
};

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

export const applyConflict = (message: string, causes: StatusCause[]) => failure('Conflict', message, { causes });

export const badRequest = (message: string) => failure('BadRequest', message);

export function forbidden(resource: ResourceName, name: string, why: string, causes?: StatusCause[]): StatusError {
  const subject = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`;
  const details = { ...detailsOf(resource, name), ...(causes && { causes }) };
  return failure('Forbidden', `${subject} is forbidden: ${why}`, details);
}

/** By an admission policy, whose author chooses the reason. */
export function policyDenied(resource: ResourceName, name: string, message: string, reason: string): StatusError {
  const { status } = forbidden(resource, name, message, [{ message }]);
  const isKnown = reason === 'Forbidden' || reason === 'Unauthorized' || reason === 'RequestEntityTooLarge';
  return new StatusError({ ...status, reason, code: isKnown ? CODES[reason] : 422 });
}

/** For paths that are no resources: discovery, health. */
export const forbiddenPath = (why: string) => failure('Forbidden', `forbidden: ${why}`, {});

export const unauthorized = () => failure('Unauthorized', 'Unauthorized');

export const tooManyRequests = (retryAfterSeconds: number) =>
  failure('TooManyRequests', 'Too many requests, please try again later.', { retryAfterSeconds });

/** A budget has nothing left; the one that evicts tries again later. */
export const tooManyEvictions = (budget: string) =>
  failure('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${budget} allows no disruption now` }],
  });

export const requestTimeout = () =>
  failure('Timeout', 'the request did not arrive within its time limit', undefined, { code: 408 });

export const entityTooLarge = (limit: number) =>
  failure('RequestEntityTooLarge', `Request entity too large: limit is ${limit}`, {});

export const tooManyValues = (limit: number) =>
  failure('RequestEntityTooLarge', `Request entity too large: the body has more than ${limit} values`, {});

export const notAcceptable = (accepted: readonly string[]) =>
  failure('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);

/** In the words of Kubernetes' framework, or of its handling of answers. */
export const notAcceptableForm = (message: string) =>
  failure('NotAcceptable', message, message.startsWith('406') ? {} : undefined);

export const noOtherForm = () =>
  notAcceptable(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);

/** Custom resources have no better words for it. Kubernetes answers with 500. */
export const noList = () => badRequest('content is not a list');

export const methodNotAllowed = () =>
  failure('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const unsupportedMediaType = (accepted: readonly string[]) =>
  failure(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

/** A revision that is no number; Kubernetes answers with 500. */
export const unreadableRevision = (version: string, field = '') => {
  const problem = `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`;
  return badRequest(field === '' ? problem : `${field}Invalid value: ${JSON.stringify(version)}: ${problem}`);
};

/** For a patch of Kubernetes' own kinds, whose framework is terse. */
export const unsupportedPatchType = () => failure('UnsupportedMediaType', '415: Unsupported Media Type', {});

/** The revision is older than the server's history. */
export const expired = (message: string, continueToken?: string) =>
  failure('Expired', message, undefined, continueToken === undefined ? {} : { metadata: { continue: continueToken } });

export const tooOldResourceVersion = (asked: number, oldest: number) =>
  expired(`too old resource version: ${asked} (${oldest})`);

export const LIST_TOO_OLD = 'The resourceVersion for the provided list is too old.';

/** The revision is not there yet; the client should try again after a second. */
export const tooLargeResourceVersion = (asked: number, current: number) =>
  failure('Timeout', `Timeout: Too large resource version: ${BigInt(asked)}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

export const internalError = (message: string) =>
  failure('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });

/** A webhook refused the request. The message is its own, and the code is never one of success. */
export function webhookDenied(webhook: string, given: Partial<Status> = {}): StatusError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const { message = '', reason = '', code = 0, details } = given;
  const why = message === '' ? reason : message;
  const text = why === '' ? `${denied} without explanation` : `${denied}: ${why}`;
  return failure(code >= 400 && code < 600 ? code : 400, text, details, reason === '' ? {} : { reason });
}

export const dryRunUnsupported = (webhook: string) =>
  badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);

/** A patch that was understood and does not fit the object. */
export const unprocessablePatch = () =>
  failure('Invalid', 'the server rejected our request due to an error in our request', {});

/** A patch whose result cannot be read as an object of the kind; Kubernetes names neither the kind nor the object. */
export const unreadablePatch = (document: string, problem: string) =>
  invalid({ group: '', kind: '' }, '', [fieldInvalid('patch', document, problem)]);

/** A refusal for which Kubernetes answers with 500, as for an error of its own, although the request is to blame. */
export const requestError = (message: string) => badRequest(message);

/** One thing that is wrong with one field. */
export interface FieldError {
  /** As in `spec.ports[0].name`. */
  field: string;
  /** `FieldValue…`: Invalid, Required, NotSupported, Forbidden, Duplicate, TypeInvalid and so on. */
  reason: string;
  /** Without the field: `Required value: must be given`. */
  message: string;
}

const fieldError = (field: string, reason: string, message: string): FieldError => ({
  field,
  reason: `FieldValue${reason}`,
  message,
});

export const fieldInvalid = (field: string, value: unknown, detail: string) =>
  fieldError(field, 'Invalid', `Invalid value: ${printed(value)}: ${detail}`);

export const fieldRequired = (field: string, detail = '') =>
  fieldError(field, 'Required', detail === '' ? 'Required value' : `Required value: ${detail}`);

export const fieldForbidden = (field: string, detail: string) => fieldError(field, 'Forbidden', `Forbidden: ${detail}`);

export function fieldNotSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((one) => JSON.stringify(one)).join(', ');
  return fieldError(field, 'NotSupported', `Unsupported value: ${printed(value)}: supported values: ${list}`);
}

function printed(value: unknown): string {
  return value === undefined ? 'null' : JSON.stringify(value);
}

/** The object (or the options) was understood, and breaks these rules. */
export function invalid(
  kind: { group: string; kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const listed = listedErrors(errors);
  const lines = listed.map((error) => `${error.field}: ${error.message}`);
  if (listed.length < errors.length) lines.push('and more errors');
  const summary = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  const subject = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return failure('Invalid', `${subject} "${name}" is invalid: ${summary}`, {
    ...(name !== '' && { name }),
    ...(kind.group !== '' && { group: kind.group }),
    ...(kind.kind !== '' && { kind: kind.kind }),
    causes: listed.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

/** An answer lists the first of them: a body of 3 MiB could have an answer of 70 MiB, whose text took seconds. */
const MAX_ERRORS = 1_000;
const MAX_ERROR_TEXT = 1024 * 1024;

function listedErrors(errors: readonly FieldError[]): readonly FieldError[] {
  let size = 0;
  let count = 0;
  for (const { field, message } of errors) {
    size += field.length + message.length;
    if (count > 0 && (count >= MAX_ERRORS || size > MAX_ERROR_TEXT)) break;
    count += 1;
  }
  return count === errors.length ? errors : errors.slice(0, count);
}

/** Bugs of the embedding program, not of a client. */
export const ApiServerErrors = {
  closed: () => new Error('the API server was closed: create another one to go on'),
  future: (asked: number, current: number) =>
    new Error(`cannot compact to revision ${asked}: the store is at ${current}; pass a revision that exists`),
};

/** The errors that keep an embedded cluster from starting or from storing its data: one sentence each, for the user that started it. */
export const ClusterErrors = catalogue('apiserver', {
  Locked: (path: string, pid: string | undefined) => ({
    message: `cannot open ${path}: another process${pid === undefined ? '' : ` (pid ${pid})`} is using it`,
    remedy: 'stop that one first, or choose another folder with --data',
  }),
  NotWritable: (path: string, problem: string) => ({
    message: `cannot write to ${path}: ${problem}`,
    remedy: 'check that the folder exists and is writable, and that the disk has free space',
  }),
  Corrupt: (path: string, problem: string) => ({
    message: `${path} is damaged: ${problem}; nothing in it has been changed`,
    remedy: 'restore a copy of it, or move it away to begin with an empty cluster',
  }),
  LostWrites: (path: string, kept: number, found: number, file: string) => ({
    message: `${path} or its log is damaged: revision ${kept} was acknowledged, and nothing after revision ${found} can be read; nothing in it has been changed`,
    remedy: `restore a copy of the folder, or remove ${file} to go on without the writes after revision ${found}`,
  }),
  NotOurs: (path: string) => ({
    message: `${path} is a database of another program`,
    remedy: 'choose another folder with --data',
  }),
  TooNew: (path: string, found: number, known: number) => ({
    message: `${path} was written by a newer version (schema ${found}, this one knows ${known})`,
    remedy: 'use that version, or choose another folder with --data',
  }),
  NotKept: (path: string, problem: string) => ({
    message: `the change is not on disk: writing to ${path} gave "${problem}"`,
    remedy: 'free space on the disk or repair it, then send the request again',
  }),
  AddressInUse: (address: string) => ({
    message: `cannot listen on ${address}: the address is in use`,
    remedy: 'stop the program that uses it, or choose another with --listen (port 0 takes any that is free)',
  }),
  CannotListen: (address: string, problem: string) => ({
    message: `cannot listen on ${address}: ${problem}`,
    remedy: 'choose another address with --listen',
  }),
  BadClusterName: (name: string) => ({
    message: `a logical cluster cannot be named ${JSON.stringify(name)}`,
    remedy: 'use lower-case letters, digits and dashes, at most 63 of them',
  }),
  SameClusterName: (name: string) => ({
    message: `two logical clusters are named ${JSON.stringify(name)}`,
    remedy: 'name each of them once',
  }),
  ForeignKubeconfig: (path: string) => ({
    message: `${path} is not the kubeconfig of this cluster, and is not changed`,
    remedy: 'choose another file with --kubeconfig-out',
  }),
  BadKey: (path: string, problem: string) => ({
    message: `cannot use the key or certificate in ${path}: ${problem}`,
    remedy:
      'restore a copy of it, or remove it and a new one is created (kubeconfigs and tokens issued with the old one become invalid)',
  }),
});
