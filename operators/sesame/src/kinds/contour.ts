// Objects of Contour's group, read as our own: `sesame serve --contour-compat`. A view of one has a mark, so that its status can be left to
// Contour as long as Contour runs. The mark is never written.
import { type DefinedKind, type KubeObject, withAliases } from '@capstan/kube';
import { ExtensionService } from './extension-service.ts';
import { HTTPProxy } from './http-proxy.ts';
import { TLSCertificateDelegation } from './tls-certificate-delegation.ts';

/** Contour's leader has it, and writes statuses. */
export interface ContourLease {
  readonly namespace: string;
  readonly name: string;
}

export const DEFAULT_CONTOUR_LEASE: ContourLease = { namespace: 'projectcontour', name: 'leader-elect' };

/** The kinds of routes, as a program reads them. */
export interface RouteKinds {
  readonly HTTPProxy: typeof HTTPProxy;
  readonly TLSCertificateDelegation: typeof TLSCertificateDelegation;
  readonly ExtensionService: typeof ExtensionService;
}

export const CONTOUR_GROUP = 'projectcontour.io';
const MARK = 'projectsesame.io/read-as';

export function routeKinds(contour: ContourLease | undefined): RouteKinds {
  if (!contour) return { HTTPProxy, TLSCertificateDelegation, ExtensionService };
  return {
    HTTPProxy: alsoContours(HTTPProxy),
    TLSCertificateDelegation: alsoContours(TLSCertificateDelegation),
    ExtensionService: alsoContours(ExtensionService),
  };
}

/** Whether the view is that of an object in Contour's group. */
export function isContours({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[MARK] === CONTOUR_GROUP;
}

function alsoContours<T extends KubeObject, In extends KubeObject>(kind: DefinedKind<T, In>): DefinedKind<T, In> {
  return withAliases(kind, [{ group: CONTOUR_GROUP, normalise: marked, hasObservedGeneration: false }]);
}

function marked<T extends object>(object: T): T {
  const { metadata } = object as unknown as KubeObject;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [MARK]: CONTOUR_GROUP } } };
}

/** The Lease that a flag or a field names: `NAMESPACE/NAME`. */
export function contourLease(text: string | undefined): ContourLease {
  const [namespace = '', name = ''] = (text ?? '').split('/');
  return namespace === '' || name === '' ? DEFAULT_CONTOUR_LEASE : { namespace, name };
}
