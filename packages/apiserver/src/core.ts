import { type Clock, formatTime, type Logger, type Random, type UnknownObject } from '@capstan/kube';
import type { FieldTracker } from './apply/field-tracker.ts';
import type { Registry } from './resources/registry.ts';
import type { Resource, ResourceVersion } from './resources/resource.ts';
import type { Pause } from './steps.ts';
import type { Storage } from './store/storage.ts';
import type { Store } from './store/store.ts';

/** Who asks. */
export interface UserInfo {
  name: string;
  groups: readonly string[];
  uid?: string;
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** Who comes in-process without saying who; the server's own controllers too. */
export const ADMIN: UserInfo = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** The body of a request as the client sent it. */
export interface BodySource {
  readonly text: string;
  /** `json parse error: unexpected end of JSON input`; the verb decides when that matters. */
  readonly problem?: string;
  /** It is of a type that nothing reads. */
  readonly isUnsupported?: boolean;
}

export interface RequestContext {
  user: UserInfo;
  /** The server's authorize() has already accepted this request; default false. */
  isAuthorized?: boolean;
  /**
   * Others are served in the middle of a long list, as requests of clients outside of this process want it; default false: a client in this process
   * sees the state of one moment without a pause.
   */
  isPaced?: boolean;
  /** Stands in where a request has no user-agent: it names the field manager then. */
  userAgent?: string;
  /** The objections of strict validation to the body's text (duplicate fields); only the reader of the text knows them. */
  duplicates?: readonly string[];
  /** The body as it was sent, for messages, and why it could not be read, if so; only who read it knows. */
  source?: BodySource;
  /** The size of the body as it was sent; default that of the source. */
  bodyBytes?: number;
  /** The Warning headers of the answer, also of a refusal. */
  warnings?: Set<string>;
}

/** A write on its way to the store; an admission may answer with another object, or throw a StatusError. */
export interface AdmissionRequest {
  operation: 'CREATE' | 'UPDATE' | 'DELETE';
  resource: Resource;
  /** The version in which the client speaks; objects are in it. */
  version: ResourceVersion;
  /** Empty for a cluster-scoped object. */
  namespace: string;
  /** Empty for a new object whose name is still to be drawn. */
  name: string;
  subresource: string | undefined;
  /** For a subresource with a kind of its own (Scale, Eviction, Binding): that object, not the one behind it. */
  object: UnknownObject | undefined;
  old: UnknownObject | undefined;
  dryRun: boolean;
  /** CreateOptions, UpdateOptions or DeleteOptions, as the client gave them. */
  options: UnknownOptions;
  context: RequestContext;
}

export interface UnknownOptions {
  readonly kind: string;
  readonly apiVersion: string;
  readonly [field: string]: unknown;
}

/**
 * Looks at every write, after defaulting and before validation. Undefined in the promised answer: the object goes on as it
 * is. Undefined instead of a promise: there is nothing to wait for.
 */
export type Admission = (request: AdmissionRequest) => Promise<UnknownObject | undefined> | undefined;

/** Checks an object before it is stored, after validation, and may only refuse it; undefined: no policy or webhook concerns it. */
export type ValidatingAdmission = (request: AdmissionRequest) => Promise<void> | undefined;

/** The shared parts of the server. */
export interface Core {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly store: Store;
  readonly storage: Storage;
  readonly registry: Registry;
  readonly fields: FieldTracker;
  readonly admission: Admission | undefined;
  readonly validatingAdmission: ValidatingAdmission | undefined;
  /** Whether a request has a large body, or changes a large object: its work is done in steps. */
  isLarge(context: RequestContext, live?: UnknownObject): boolean;
  /** Lets other requests be served between two steps of a large request; undefined for others. */
  pause(context: RequestContext, live?: UnknownObject): Promise<void> | undefined;
  /** Returns the pause for work on many objects: it lets others be served each time the work has taken some milliseconds. */
  pace(context: RequestContext): Pause;
  readonly checkNamespaces: boolean;
  readonly watchBufferLimit: number;
}

/** The time as objects carry it: RFC 3339, whole seconds. */
export function timestamp(clock: Clock, plusMs = 0): string {
  return formatTime(clock.now() + plusMs);
}

/** A random UUID (version 4) from the server's randomness. */
export function newUid(random: Random): string {
  let hex = '';
  for (let count = 0; count < 8; count += 1) {
    hex += Math.floor(random() * 0x10000)
      .toString(16)
      .padStart(4, '0');
  }
  const variant = '89ab'[Math.floor(random() * 4)];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
