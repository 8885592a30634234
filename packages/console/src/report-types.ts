// The bodies of the pages that operators declare: ingress, cables, Kafka, discovery and packages. Operators do not import this file; the
// program checks that their reports have these types.
import type { CauseAnswer, ConditionAnswer, Place } from './api-types.ts';

/**
 * `/api/reports`: the pages that operators declare. `path` is the address of the body: `/api/ingress/default/edge`, `/api/cables`,
 * `/api/kafka`, `/api/discovery`, `/api/packages`.
 */
export interface ReportsAnswer {
  readonly reports: readonly {
    /** `ingress/default/edge`, `cables`, … */
    readonly name: string;
    readonly operator: string;
    readonly title: string;
    readonly path: string;
  }[];
}

/** The body of a report that cannot be computed yet, or not with the rights of the user. Every path of a report may answer so. */
export interface UnknownAnswer {
  /** One sentence for each reason. */
  readonly unknown: readonly string[];
  /** The Role to request, as YAML, where a right is missing. */
  readonly role?: string;
}

/** The time steps of a report that has them, as a part of its body. `?step=AT` asks for the body of a step. */
export interface StepsAnswer<T> {
  /** RFC 3339, oldest first. The first one is when the page was first asked for. */
  readonly steps: readonly string[];
  /** The step of this body. */
  readonly step: string;
  /** The body of the step before. */
  readonly before?: T;
}

/** The request of a report's preview: its body before and after the change. The request writes nothing. */
export interface WhatIfRequest {
  readonly manifests: string;
  readonly delete?: boolean;
}
export interface WhatIfAnswer<T> {
  readonly before: T | UnknownAnswer;
  readonly after: T | UnknownAnswer;
}

/** `/api/ingress/NAMESPACE/NAME`: the hosts of one Sesame. `?host=` selects one host. */
export interface IngressAnswer {
  readonly instance: string;
  readonly listeners: readonly { readonly name: string; readonly address: string; readonly hosts: number }[];
  /** At most 500, those with problems first; `?after=HOST` continues. Routes are left out above 60 hosts: ask with `?host=`. */
  readonly hosts: readonly IngressHost[];
  readonly hostCount: number;
  /** How many hosts have problems. */
  readonly brokenCount: number;
  /** Undefined: not known; `envoysUnknown` has the reason. */
  readonly envoys?: readonly EnvoyAnswer[];
  readonly envoysUnknown?: string;
}
export interface IngressHost {
  readonly host: string;
  readonly isServed: boolean;
  /** Ids of the objects that define the host. */
  readonly from: readonly string[];
  readonly problems: readonly string[];
  readonly routeCount: number;
  /** In the order in which Envoy tries them, by listener. */
  readonly listeners: readonly {
    readonly name: string;
    readonly address: string;
    readonly filters: readonly string[];
    readonly routes: readonly IngressRoute[];
  }[];
}
/** As in `sesame explain -o json`. */
export interface IngressRoute {
  readonly match: string;
  /** `HTTPProxy default/shop`. */
  readonly from?: string;
  /** `spec.routes[1]`. */
  readonly field?: string;
  /** The answer of a route that sends to no Service. */
  readonly answer?: string;
  readonly services: readonly {
    readonly cluster: string;
    /** `default/web port 80`. */
    readonly service: string;
    /** In percent. */
    readonly share: number;
    readonly endpoints: readonly string[];
  }[];
  readonly isUnconditional: boolean;
}
export interface EnvoyAnswer {
  readonly node: string;
  readonly version: string;
  readonly protocol: string;
  readonly types: readonly {
    /** `listeners`, `routes`, `clusters`, `endpoints`, `secrets`. */
    readonly type: string;
    readonly resources: number;
    readonly sent: string;
    readonly acknowledged: string;
    readonly rejected?: { readonly version: string; readonly message: string };
  }[];
}

/** `POST /api/explain`: the handling of a request by Envoy. Nothing is sent. */
export interface ExplainRequest {
  /** `NAMESPACE/NAME` of the Sesame; the first one by default. */
  readonly instance?: string;
  readonly host: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface ExplainAnswer {
  readonly host: string;
  readonly path: string;
  readonly servedAs?: string;
  readonly listeners: readonly {
    readonly name: string;
    readonly address: string;
    readonly filters: readonly string[];
    /** Routes that the request may take, in order: the first that is unconditional is taken. */
    readonly routes: readonly IngressRoute[];
    /** Routes that the request does not take, with the reason; at most 50. */
    readonly skipped: readonly (Pick<IngressRoute, 'match' | 'from' | 'field'> & { readonly reason: string })[];
  }[];
  readonly problems: readonly string[];
}

/** `/api/cables`. */
export interface CablesAnswer {
  readonly namespace: string;
  /** The id of this cluster; absent in a broker's own cluster. */
  readonly clusterID?: string;
  readonly clusters: readonly {
    readonly id: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Drivers that its active endpoint offers; empty where it has none. */
    readonly drivers: readonly string[];
  }[];
  /** The label that policies select on most, to group the map by. */
  readonly groupBy?: string;
  /** Every pair once, `left` before `right` in the order of the names. */
  readonly pairs: readonly CablePair[];
  readonly policies: readonly {
    readonly name: string;
    readonly isAccepted: boolean;
    readonly message: string;
    readonly pairs: number;
    readonly rules: readonly {
      readonly left: string;
      readonly right: string;
      readonly driver: string;
      readonly priority: number;
    }[];
  }[];
  readonly problems: readonly string[];
}
export interface CablePair {
  readonly left: string;
  readonly right: string;
  /** `none`: a policy forbids the cable. `unknown`: no policy decides. */
  readonly driver: string;
  readonly policy: string;
  /** Why the pair has this driver although the policy names another one. */
  readonly note?: string;
  /** As an end reports it; `unknown` where none of the ends can be read. */
  readonly state: 'up' | 'connecting' | 'down' | 'none' | 'unknown';
  readonly message?: string;
  /** The driver in use, as an end reports it. */
  readonly usedDriver?: string;
}

/** `/api/kafka`. */
export interface KafkaProxiesAnswer {
  readonly proxies: readonly { readonly key: string; readonly hash: string; readonly clusters: number }[];
}
/** The answer of `/api/kafka/NAMESPACE/NAME` and of its preview. */
export interface KafkaAnswer extends Partial<StepsAnswer<KafkaAnswer>> {
  readonly proxy: string;
  /** The hash that the configuration has now, short. */
  readonly hash: string;
  /** The hash on the pod template of the Deployment: pods roll where the two differ. */
  readonly runningHash?: string;
  readonly nodes: readonly KafkaNode[];
  /** From an input to its reader. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly pods: readonly {
    readonly name: string;
    readonly hash: string;
    readonly isCurrent: boolean;
    readonly isReady: boolean;
  }[];
  /** Fields of inputs, and whether a change of them would roll the pods. */
  readonly questions: readonly { readonly id: string; readonly field: string; readonly rolls: boolean }[];
  readonly clusters: readonly {
    readonly name: string;
    readonly bootstrap: readonly string[];
    readonly filters: readonly string[];
    readonly service: string;
    readonly isServed: boolean;
    /** The hash of the last good configuration, where that is served in place of the present one. */
    readonly lastGood?: string;
    readonly problems: readonly string[];
  }[];
  /** The condition Ready. */
  readonly rollout?: ConditionAnswer;
}
export interface KafkaNode extends Place {
  readonly id: string;
  /** 0: Secrets and ConfigMaps, 1: referenced resources, 2: virtual clusters, 3: the proxy. */
  readonly column: 0 | 1 | 2 | 3;
  /** Keys or fields that the hash covers. */
  readonly covers: string;
  /** Short; a keyed digest for content of Secrets. Empty while it cannot be computed. */
  readonly hash: string;
  /** The hash of the last good configuration, while the present one cannot be computed. */
  readonly lastGood?: string;
  readonly problems: readonly string[];
}

/** `/api/discovery`. */
export interface DiscoveryAnswer {
  readonly backends: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly type: string;
    /** `Enabled`, `Maintenance`, … as the spec asks for. */
    readonly wanted: string;
    readonly state: string;
    readonly services: number;
    readonly endpoints: number;
    readonly lastSync?: string;
    readonly credentialsExpire?: string;
    /** The times at which credentials may change, as they are written. */
    readonly rotation?: string;
    /** The next scheduled maintenance. */
    readonly window?: string;
    readonly errors: readonly string[];
  }[];
}
/** `/api/discovery/NAME`: the routes that use a backend. */
export interface BackendAnswer {
  readonly name: string;
  readonly wanted: string;
  readonly state: string;
  readonly drained: number;
  readonly blocked: number;
  readonly routes: readonly BackendRoute[];
  /** The newest change of weights, with its cause and the routes that it changed. */
  readonly why?: { readonly cause: CauseAnswer; readonly routes: readonly string[] };
  /** The credentials in force: names and times alone. */
  readonly credentials?: {
    readonly source: string;
    /** The Secret that the discoverer mounts. */
    readonly copy: string;
    /** RFC 3339. */
    readonly since: string;
    readonly expires?: string;
    readonly rotations: number;
    readonly refused: number;
    readonly window?: string;
    readonly timeZone?: string;
    readonly problem?: string;
  };
}
export interface BackendRoute extends Place {
  readonly id: string;
  /** `routes[0]`. */
  readonly rule: string;
  readonly state: 'untouched' | 'draining' | 'drained' | 'held' | 'blocked';
  readonly reason?: string;
  readonly message?: string;
  readonly services: readonly {
    readonly service: string;
    readonly backend?: string;
    /** The weights; null: none is written. */
    readonly before: number | null;
    readonly now: number | null;
    readonly after: number | null;
  }[];
}

/** `/api/packages`. */
export interface PackagesAnswer {
  readonly packages: readonly {
    readonly kind: string;
    readonly name: string;
    readonly package: string;
    readonly revision: string;
    readonly config: string;
  }[];
}
/** `/api/packages/KIND/NAME`. */
export interface PackageAnswer {
  readonly kind: string;
  readonly name: string;
  readonly package: string;
  readonly revision: string;
  /** The runtime config in force; empty where the package has no runtime. */
  readonly config: string;
  readonly fields: readonly PackageField[];
  /** Packages that use the same runtime config, as `Provider storage`. */
  readonly users: readonly string[];
  readonly warnings: readonly string[];
  /** From the package to the account that its pods run with. */
  readonly steps: readonly (Place & {
    readonly detail: string;
    readonly state: 'ready' | 'progress' | 'broken' | 'absent';
  })[];
  /** The Secrets with the certificates of its runtime. */
  readonly certificates: readonly { readonly usage: 'server' | 'client'; readonly secret: string }[];
}
export interface PackageField {
  /** `Deployment`, `Service` or `ServiceAccount`. */
  readonly object: string;
  readonly path: string;
  /** The value of each layer, as JSON; a layer without the field is absent. */
  readonly layers: { readonly default?: unknown; readonly template?: unknown; readonly package?: unknown };
  readonly winner: 'default' | 'template' | 'package';
  readonly value: unknown;
}
