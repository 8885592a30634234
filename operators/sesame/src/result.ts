// A result is a value or its problem. The problems of an object, as its status reports them, have a type, a reason and a message.
import type { ObjectRef } from '@capstan/kube';

/** A value, or the problem because of which there is none. */
export type Result<Value, Problem = string> =
  | { readonly isOk: true; readonly value: Value }
  | { readonly isOk: false; readonly problem: Problem };

export function accept<Value>(value: Value): { readonly isOk: true; readonly value: Value } {
  return { isOk: true, value };
}

export function refuse<Problem>(problem: Problem): { readonly isOk: false; readonly problem: Problem } {
  return { isOk: false, problem };
}

export interface RouteProblem {
  readonly type: RouteProblemType;
  readonly reason: string;
  readonly message: string;
}

export type RouteProblemType =
  | 'AuthError'
  | 'CORSError'
  | 'IPFilterError'
  | 'JWTVerificationError'
  | 'IncludeError'
  | 'Orphaned'
  | 'PrefixReplaceError'
  | 'RootNamespaceError'
  | 'RouteError'
  | 'ServiceError'
  | 'SpecError'
  | 'TCPProxyIncludeError'
  | 'TCPProxyError'
  | 'TLSError'
  | 'VirtualHostError'
  | 'ListenerError';

/** Errors and warnings of one object. */
export interface Findings {
  readonly errors: RouteProblem[];
  readonly warnings: RouteProblem[];
}

/** Collects the problems of the objects that one root consists of. */
export class ProblemLog {
  readonly #findings = new Map<string, Findings>();

  /** The object is known to be used, whether something is wrong with it or not. */
  visit(ref: ObjectRef): Findings {
    const key = `${ref.namespace ?? ''}/${ref.name}`;
    let findings = this.#findings.get(key);
    if (!findings) {
      findings = { errors: [], warnings: [] };
      this.#findings.set(key, findings);
    }
    return findings;
  }

  error(ref: ObjectRef, type: RouteProblemType, reason: string, message: string): void {
    const { errors } = this.visit(ref);
    if (!errors.some((each) => each.type === type && each.message === message)) errors.push({ type, reason, message });
  }

  warn(ref: ObjectRef, type: RouteProblemType, reason: string, message: string): void {
    const { warnings } = this.visit(ref);
    if (!warnings.some((each) => each.type === type && each.message === message))
      warnings.push({ type, reason, message });
  }

  /** By `namespace/name`. */
  findings(): ReadonlyMap<string, Findings> {
    return this.#findings;
  }
}

/** Reports about one object; returned by a check that goes on, thrown by none. */
export interface Reporter {
  error(type: RouteProblemType, reason: string, message: string): void;
  warn(type: RouteProblemType, reason: string, message: string): void;
}

/** The part of an object that a problem is reported by. */
interface NamedObject {
  readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined };
}

export function namesOf({ metadata }: NamedObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

export function reporterFor({ log }: { readonly log: ProblemLog }, object: NamedObject): Reporter {
  return reporterOf(log, namesOf(object));
}

export function reporterOf(log: ProblemLog, ref: ObjectRef): Reporter {
  return {
    error: (type, reason, message) => log.error(ref, type, reason, message),
    warn: (type, reason, message) => log.warn(ref, type, reason, message),
  };
}
