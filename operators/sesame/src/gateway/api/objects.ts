// The kinds of the Gateway API, as far as Sesame reads and writes them. Their CRDs come from the user's cluster.
import { externalKind, type Kind, type KubeObject, type LabelSelector } from '@capstan/kube';
import type { BackendReference, GrantSpec, ObjectReference, ParentReference } from './references.ts';
import { GATEWAY_GROUP } from './references.ts';

export interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string | undefined;
  readonly observedGeneration?: number | undefined;
}

export interface GatewayClass extends KubeObject {
  spec: {
    controllerName: string;
    parametersRef?: { group: string; kind: string; name: string; namespace?: string };
    description?: string;
  };
  status?: { conditions?: StatusCondition[]; supportedFeatures?: { name: string }[] };
}

export interface FrontendValidation {
  readonly caCertificateRefs: readonly ObjectReference[];
  readonly mode?: 'AllowValidOnly' | 'AllowInsecureFallback' | undefined;
}

export interface Listener {
  readonly name: string;
  readonly hostname?: string | undefined;
  readonly port: number;
  readonly protocol: string;
  readonly tls?:
    | {
        readonly mode?: 'Terminate' | 'Passthrough' | undefined;
        readonly certificateRefs?: readonly ObjectReference[] | undefined;
      }
    | undefined;
  readonly allowedRoutes?:
    | {
        readonly namespaces?:
          | {
              readonly from?: 'All' | 'Selector' | 'Same' | 'None' | undefined;
              readonly selector?: LabelSelector | undefined;
            }
          | undefined;
        readonly kinds?: readonly { readonly group?: string | undefined; readonly kind: string }[] | undefined;
      }
    | undefined;
}

export interface GatewayAddress {
  readonly type?: string | undefined;
  readonly value?: string | undefined;
}

export interface GatewaySpec {
  readonly gatewayClassName: string;
  readonly listeners: readonly Listener[];
  readonly addresses?: readonly GatewayAddress[] | undefined;
  readonly infrastructure?:
    | {
        readonly labels?: Readonly<Record<string, string>> | undefined;
        readonly annotations?: Readonly<Record<string, string>> | undefined;
        readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string } | undefined;
      }
    | undefined;
  readonly tls?:
    | {
        readonly backend?: { readonly clientCertificateRef?: ObjectReference | undefined } | undefined;
        readonly frontend?:
          | {
              readonly default?: { readonly validation?: FrontendValidation | undefined } | undefined;
              readonly perPort?:
                | readonly {
                    readonly port: number;
                    readonly tls: { readonly validation?: FrontendValidation | undefined };
                  }[]
                | undefined;
            }
          | undefined;
      }
    | undefined;
}

export interface Gateway extends KubeObject {
  spec: GatewaySpec;
  status?: {
    conditions?: StatusCondition[];
    addresses?: GatewayAddress[];
    listeners?: { name: string; conditions?: StatusCondition[] }[];
  };
}

export interface RouteStatus {
  parents?: {
    parentRef: ParentReference;
    controllerName: string;
    conditions?: StatusCondition[];
  }[];
}

export interface HeaderValue {
  readonly name: string;
  readonly value: string;
}

export interface HeaderFilter {
  readonly set?: readonly HeaderValue[] | undefined;
  readonly add?: readonly HeaderValue[] | undefined;
  readonly remove?: readonly string[] | undefined;
}

export interface PathModifier {
  readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch';
  readonly replaceFullPath?: string | undefined;
  readonly replacePrefixMatch?: string | undefined;
}

export interface MirrorFilter {
  readonly backendRef: BackendReference;
  readonly percent?: number | undefined;
  readonly fraction?: { readonly numerator: number; readonly denominator?: number | undefined } | undefined;
}

export interface RedirectFilter {
  readonly scheme?: string | undefined;
  readonly hostname?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: PathModifier | undefined;
  readonly statusCode?: number | undefined;
}

export interface CorsFilter {
  readonly allowOrigins?: readonly string[] | undefined;
  readonly allowCredentials?: boolean | undefined;
  readonly allowMethods?: readonly string[] | undefined;
  readonly allowHeaders?: readonly string[] | undefined;
  readonly exposeHeaders?: readonly string[] | undefined;
  readonly maxAge?: number | undefined;
}

export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter | undefined;
  readonly responseHeaderModifier?: HeaderFilter | undefined;
  readonly requestMirror?: MirrorFilter | undefined;
  readonly requestRedirect?: RedirectFilter | undefined;
  readonly urlRewrite?:
    | { readonly hostname?: string | undefined; readonly path?: PathModifier | undefined }
    | undefined;
  readonly cors?: CorsFilter | undefined;
  readonly extensionRef?: ObjectReference | undefined;
}

export interface RouteBackend extends BackendReference {
  readonly filters?: readonly RouteFilter[] | undefined;
}

export interface ValueMatch {
  readonly type?: 'Exact' | 'RegularExpression' | undefined;
  readonly name: string;
  readonly value: string;
}

export interface SessionPersistence {
  readonly sessionName?: string | undefined;
  readonly absoluteTimeout?: string | undefined;
  readonly idleTimeout?: string | undefined;
  readonly type?: 'Cookie' | 'Header' | undefined;
  readonly cookieConfig?: { readonly lifetimeType?: 'Permanent' | 'Session' | undefined } | undefined;
}

export interface HTTPRouteMatch {
  readonly path?: { readonly type?: string | undefined; readonly value?: string | undefined } | undefined;
  readonly headers?: readonly ValueMatch[] | undefined;
  readonly queryParams?: readonly ValueMatch[] | undefined;
  readonly method?: string | undefined;
}

export interface HTTPRouteRule {
  readonly name?: string | undefined;
  readonly matches?: readonly HTTPRouteMatch[] | undefined;
  readonly filters?: readonly RouteFilter[] | undefined;
  readonly backendRefs?: readonly RouteBackend[] | undefined;
  readonly timeouts?:
    | { readonly request?: string | undefined; readonly backendRequest?: string | undefined }
    | undefined;
  readonly retry?:
    | {
        readonly codes?: readonly number[] | undefined;
        readonly attempts?: number | undefined;
        readonly backoff?: string | undefined;
      }
    | undefined;
  readonly sessionPersistence?: SessionPersistence | undefined;
}

interface CommonSpec {
  readonly parentRefs?: readonly ParentReference[] | undefined;
}

export interface HTTPRoute extends KubeObject {
  spec: CommonSpec & {
    readonly hostnames?: readonly string[] | undefined;
    readonly rules?: readonly HTTPRouteRule[] | undefined;
  };
  status?: RouteStatus;
}

export interface GRPCRouteMatch {
  readonly method?:
    | {
        readonly type?: 'Exact' | 'RegularExpression' | undefined;
        readonly service?: string | undefined;
        readonly method?: string | undefined;
      }
    | undefined;
  readonly headers?: readonly ValueMatch[] | undefined;
}

export interface GRPCRouteRule {
  readonly name?: string | undefined;
  readonly matches?: readonly GRPCRouteMatch[] | undefined;
  readonly filters?: readonly RouteFilter[] | undefined;
  readonly backendRefs?: readonly RouteBackend[] | undefined;
  readonly sessionPersistence?: SessionPersistence | undefined;
}

export interface GRPCRoute extends KubeObject {
  spec: CommonSpec & {
    readonly hostnames?: readonly string[] | undefined;
    readonly rules?: readonly GRPCRouteRule[] | undefined;
  };
  status?: RouteStatus;
}

export interface StreamRule {
  readonly name?: string | undefined;
  readonly backendRefs?: readonly BackendReference[] | undefined;
}

export interface TLSRoute extends KubeObject {
  spec: CommonSpec & {
    readonly hostnames?: readonly string[] | undefined;
    readonly rules: readonly StreamRule[];
  };
  status?: RouteStatus;
}

export interface TCPRoute extends KubeObject {
  spec: CommonSpec & { readonly rules: readonly StreamRule[] };
  status?: RouteStatus;
}

export interface ReferenceGrant extends KubeObject {
  spec: GrantSpec;
}

export interface BackendTLSPolicySpec {
  readonly targetRefs: readonly {
    readonly group: string;
    readonly kind: string;
    readonly name: string;
    readonly sectionName?: string | undefined;
  }[];
  readonly validation: {
    readonly caCertificateRefs?: readonly ObjectReference[] | undefined;
    readonly wellKnownCACertificates?: string | undefined;
    readonly hostname: string;
    readonly subjectAltNames?:
      | readonly {
          readonly type: 'Hostname' | 'URI';
          readonly hostname?: string | undefined;
          readonly uri?: string | undefined;
        }[]
      | undefined;
  };
}

export interface BackendTLSPolicy extends KubeObject {
  spec: BackendTLSPolicySpec;
  status?: {
    ancestors?: { ancestorRef: ParentReference; controllerName: string; conditions?: StatusCondition[] }[];
  };
}

export interface GatewayKinds {
  readonly GatewayClass: Kind<GatewayClass>;
  readonly Gateway: Kind<Gateway>;
  readonly HTTPRoute: Kind<HTTPRoute>;
  readonly GRPCRoute: Kind<GRPCRoute>;
  readonly TLSRoute: Kind<TLSRoute>;
  readonly TCPRoute: Kind<TCPRoute>;
  readonly ReferenceGrant: Kind<ReferenceGrant>;
  readonly BackendTLSPolicy: Kind<BackendTLSPolicy>;
}

export type RouteKindName = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute' | 'TCPRoute';
export const ROUTE_KINDS: readonly RouteKindName[] = ['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'TCPRoute'];
export type AnyRoute = HTTPRoute | GRPCRoute | TLSRoute | TCPRoute;

/** Versions that Sesame can read, the newest first. */
export const VERSIONS: Readonly<Record<keyof GatewayKinds, readonly string[]>> = {
  GatewayClass: ['v1', 'v1beta1'],
  Gateway: ['v1', 'v1beta1'],
  HTTPRoute: ['v1', 'v1beta1'],
  GRPCRoute: ['v1', 'v1alpha2'],
  TLSRoute: ['v1', 'v1alpha3', 'v1alpha2'],
  TCPRoute: ['v1', 'v1alpha2'],
  ReferenceGrant: ['v1', 'v1beta1'],
  BackendTLSPolicy: ['v1', 'v1alpha3'],
};

/** The kinds in the versions that a cluster serves; v1 where it is not known. */
export function gatewayKinds(versions: Partial<Record<keyof GatewayKinds, string>> = {}): GatewayKinds {
  const kind = <T extends KubeObject>(name: keyof GatewayKinds, plural: string, hasStatus = true): Kind<T> =>
    externalKind<T>({
      group: GATEWAY_GROUP,
      version: versions[name] ?? 'v1',
      kind: name,
      plural,
      scope: name === 'GatewayClass' ? 'Cluster' : 'Namespaced',
      hasStatus,
    });
  return {
    GatewayClass: kind('GatewayClass', 'gatewayclasses'),
    Gateway: kind('Gateway', 'gateways'),
    HTTPRoute: kind('HTTPRoute', 'httproutes'),
    GRPCRoute: kind('GRPCRoute', 'grpcroutes'),
    TLSRoute: kind('TLSRoute', 'tlsroutes'),
    TCPRoute: kind('TCPRoute', 'tcproutes'),
    ReferenceGrant: kind('ReferenceGrant', 'referencegrants', false),
    BackendTLSPolicy: kind('BackendTLSPolicy', 'backendtlspolicies'),
  };
}
