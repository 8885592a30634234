// Routes of all kinds as maintenance sees them: rules, and in each rule the places that can be turned up or down. Shapes of
// single kinds are in routes/; everything else works on this.

/** Fields of one place by name; undefined: not there. Values are plain data. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The meaning of weights to the data plane. `contour`: an absent weight counts 0 beside others, a sole service gets everything whatever its
 * weight, and a sum of 0 is an even split. `sesame`: the same, but the split is even only if no weight is written; a sum of 0 is answered
 * with 503. `gateway`: an absent weight counts 1, and a sum of 0 is answered with 500. `canary`: the weight of one is a part of the total
 * of the others. `none`: there are no weights.
 */
export type Semantics = 'contour' | 'sesame' | 'gateway' | 'canary' | 'none';

export interface RouteRule {
  /** The match of the rule, in 12 hex digits. Several rules may have the same match. */
  readonly key: string;
  /** Its name, where rules have one. */
  readonly name?: string | undefined;
  /** Where it is, as people read it: `routes[0]`. */
  readonly place: string;
  readonly semantics: Semantics;
  /** How requests can be refused without taking a reference away; undefined: not at all. */
  readonly refusal: 'weights' | 'deny' | undefined;
  readonly entries: readonly RouteEntry[];
  /** Without weights: a canary takes all requests. */
  readonly isRelieved?: boolean;
  /** For a canary: the weight that stands for all requests, and whether some requests reach it whatever its weight. */
  readonly total?: number;
  readonly isChosen?: boolean;
}

export interface RouteEntry {
  /**
   * `service`: takes a share of the requests by its weight. `mirror`: takes copies; its weight is a percentage.
   * `mirrorFilter`: the same as a filter. `gate`: the rule itself, where it can refuse requests. `canary`: takes a part of the
   * requests of others; the first of them has the weight. `peer`: a service of another route, with which this one shares.
   */
  readonly role: 'service' | 'mirror' | 'mirrorFilter' | 'gate' | 'canary' | 'peer';
  /** Unique within the rule and independent of the order: namespace, name, port, and which of several equal ones. */
  readonly id: string;
  /** The Service; undefined for an entry that is not a Service (another kind of backend, a gate). */
  readonly service: { readonly namespace: string; readonly name: string } | undefined;
  /** JSON pointer to the object that the fields are in. */
  readonly path: string;
  readonly fields: Fields;
}

/** The weight that a service has, if one is written. */
export function weightOf({ weight }: Fields): number | undefined {
  return typeof weight === 'number' ? weight : undefined;
}
