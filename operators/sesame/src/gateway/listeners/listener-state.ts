// The state of a Gateway's listeners by themselves, before any route: protocols, certificates, conflicts.

import type { ConditionInput } from '@capstan/reconcile';
import type { Certificate } from '../../model/certificate.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { GatewaySpec, Listener, RouteKindName } from '../api/objects.ts';
import { GATEWAY_GROUP } from '../api/references.ts';
import {
  clientValidation,
  type FrontendClients,
  type RefProblem,
  resolveCertificate,
  resolveCertificates,
} from './certificates.ts';
import { conflicts } from './conflicts.ts';

/** How bytes that arrive are treated. */
export type ListenerMode = 'http' | 'https' | 'terminate' | 'passthrough' | 'tcp';

export interface ListenerState {
  readonly name: string;
  readonly port: number;
  /** In lower case; "*" for all. */
  readonly host: string;
  /** Undefined: the protocol is not supported. */
  readonly mode: ListenerMode | undefined;
  readonly allowed: Listener['allowedRoutes'];
  readonly kinds: readonly RouteKindName[];
  readonly conditions: readonly ConditionInput[];
  readonly isAccepted: boolean;
  /** Whether Envoy gets it. */
  readonly isServed: boolean;
  readonly certificates: readonly Certificate[];
  readonly clientValidation: FrontendClients | undefined;
}

export interface GatewayState {
  readonly listeners: readonly ListenerState[];
  /** The client certificate that Envoy sends to backends. */
  readonly clientCertificate: Certificate | undefined;
  /** Undefined: the Gateway names no certificate. */
  readonly clientCertificateProblem: RefProblem | undefined;
  readonly namesClientCertificate: boolean;
  readonly hasInsecureValidation: boolean;
}

export function gatewayState(spec: GatewaySpec, namespace: string, lookup: GatewayLookup): GatewayState {
  const conflicting = conflicts(spec.listeners);
  const listeners = spec.listeners.map((listener) =>
    listenerState(listener, conflicting.get(listener.name), spec, namespace, lookup),
  );
  const ref = spec.tls?.backend?.clientCertificateRef;
  const certificate = ref && resolveCertificate(ref, namespace, lookup, 'InvalidClientCertificateRef');
  return {
    listeners,
    clientCertificate: certificate?.isOk ? certificate.value : undefined,
    clientCertificateProblem: certificate && !certificate.isOk ? certificate.problem : undefined,
    namesClientCertificate: ref !== undefined,
    hasInsecureValidation: listeners.some((listener) => listener.clientValidation?.isInsecure === true),
  };
}

const PROTOCOL_KINDS: Readonly<Record<string, readonly RouteKindName[]>> = {
  HTTP: ['HTTPRoute', 'GRPCRoute'],
  HTTPS: ['HTTPRoute', 'GRPCRoute'],
  TLS: ['TLSRoute'],
  TCP: ['TCPRoute'],
};

export function modeOf({ protocol, tls }: Listener): ListenerMode | undefined {
  if (protocol === 'HTTP') return 'http';
  if (protocol === 'HTTPS') return 'https';
  if (protocol === 'TCP') return 'tcp';
  if (protocol !== 'TLS') return undefined;
  return tls?.mode === 'Passthrough' ? 'passthrough' : 'terminate';
}

function listenerState(
  listener: Listener,
  conflict: RefProblem | undefined,
  spec: GatewaySpec,
  namespace: string,
  lookup: GatewayLookup,
): ListenerState {
  const mode = modeOf(listener);
  const possible = PROTOCOL_KINDS[listener.protocol] ?? [];
  const { kinds, unknown } = kindsOf(listener, possible);
  const isTerminated = mode === 'https' || mode === 'terminate';
  const certificates = isTerminated
    ? resolveCertificates(listener.tls?.certificateRefs ?? [], namespace, lookup)
    : { found: [], problem: undefined };
  const validation = mode === 'https' ? validationOf(spec, listener.port) : undefined;
  const clients = validation && clientValidation(validation, namespace, lookup);
  const accepted = acceptance(listener, mode, conflict, clients);
  const unresolved = resolution(listener, unknown, certificates.problem, clients?.problem);
  const isAccepted = accepted === undefined;
  const isServed =
    isAccepted && possible.length > 0 && kinds.length > 0 && (!isTerminated || certificates.found.length > 0);
  return {
    name: listener.name,
    port: listener.port,
    host: (listener.hostname || '*').toLowerCase(),
    mode,
    allowed: listener.allowedRoutes,
    kinds,
    conditions: conditionsOf(accepted, unresolved, conflict, isServed),
    isAccepted,
    isServed,
    certificates: certificates.found,
    clientValidation: clients,
  };
}

function kindsOf(
  { allowedRoutes }: Listener,
  possible: readonly RouteKindName[],
): { kinds: readonly RouteKindName[]; unknown: readonly string[] } {
  const wanted = allowedRoutes?.kinds ?? [];
  if (wanted.length === 0) return { kinds: possible, unknown: [] };
  const isPossible = ({ group = GATEWAY_GROUP, kind }: { group?: string | undefined; kind: string }) =>
    group === GATEWAY_GROUP && possible.includes(kind as RouteKindName);
  return {
    kinds: wanted.filter(isPossible).map(({ kind }) => kind as RouteKindName),
    unknown: wanted.filter((each) => !isPossible(each)).map(({ kind }) => kind),
  };
}

/** The setting of a port wins over the default. */
function validationOf({ tls }: GatewaySpec, port: number) {
  const own = tls?.frontend?.perPort?.find((each) => each.port === port);
  return own ? own.tls.validation : tls?.frontend?.default?.validation;
}

function acceptance(
  listener: Listener,
  mode: ListenerMode | undefined,
  conflict: RefProblem | undefined,
  clients: FrontendClients | undefined,
): RefProblem | undefined {
  if (mode === undefined)
    return {
      reason: 'UnsupportedProtocol',
      message: `protocol: ${listener.protocol} is not supported; use HTTP, HTTPS, TLS or TCP`,
    };
  if (mode === 'https' && listener.tls?.mode === 'Passthrough')
    return {
      reason: 'UnsupportedValue',
      message: 'tls.mode: Passthrough is not supported for protocol HTTPS; use protocol TLS',
    };
  if (conflict) return conflict;
  if (clients && !clients.validation)
    return {
      reason: 'NoValidCACertificate',
      message: 'validation.caCertificateRefs: none can be used for clients; correct them',
    };
  return undefined;
}

function resolution(
  listener: Listener,
  unknown: readonly string[],
  certificate: RefProblem | undefined,
  authority: RefProblem | undefined,
): RefProblem | undefined {
  if (unknown.length > 0)
    return {
      reason: 'InvalidRouteKinds',
      message: `allowedRoutes.kinds: ${unknown.join(', ')} cannot be routed by protocol ${listener.protocol}; remove it, or change the protocol`,
    };
  if (certificate) return certificate;
  const isTerminated =
    listener.protocol === 'HTTPS' || (listener.protocol === 'TLS' && modeOf(listener) === 'terminate');
  if (isTerminated && (listener.tls?.certificateRefs ?? []).length === 0)
    return { reason: 'InvalidCertificateRef', message: 'tls.certificateRefs: it is empty; name a Secret' };
  return authority;
}

function conditionsOf(
  refusal: RefProblem | undefined,
  unresolved: RefProblem | undefined,
  conflict: RefProblem | undefined,
  isServed: boolean,
): ConditionInput[] {
  const of = (type: string, isTrue: boolean, reason: string, message: string): ConditionInput => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason,
    message,
  });
  return [
    refusal
      ? of('Accepted', false, refusal.reason, refusal.message)
      : of('Accepted', true, 'Accepted', 'Valid listener'),
    isServed
      ? of('Programmed', true, 'Programmed', 'Valid listener')
      : of('Programmed', false, 'Invalid', (refusal ?? unresolved)?.message ?? 'Listener has no kinds of routes'),
    unresolved
      ? of('ResolvedRefs', false, unresolved.reason, unresolved.message)
      : of('ResolvedRefs', true, 'ResolvedRefs', 'Listener references resolved'),
    conflict
      ? of('Conflicted', true, conflict.reason, conflict.message)
      : of('Conflicted', false, 'NoConflicts', 'No conflicts'),
  ];
}
