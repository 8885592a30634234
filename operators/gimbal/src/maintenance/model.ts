// Routes of all kinds as maintenance sees them: rules, and in each rule the places that can be turned up or down. Shapes of
// single kinds are in routes/; everything else works on this.

/** Fields of one place by name; undefined: not there. Values are plain data. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * What weights mean to the data plane. `contour`: one that is not written counts 0 next to others, a sole service gets
 * everything whatever its weight, and where they sum up to 0 all have an even share. `sesame`: the same, but only where none is
 * written there is an even share; a sum of 0 is answered with 503. `gateway`: one that is not written counts 1, a sum of 0
 * is answered with 500. `canary`: the weight of one is a part of the total of the others; `none`: there are no weights.
 */
export type Semantics = 'contour' | 'sesame' | 'gateway' | 'canary' | 'none';

export interface RouteRule {
  /** What the rule matches, in 12 hex digits: several rules may match the same. */
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
  /** Of a canary: what stands for all requests, and whether some come to it whatever its weight. */
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
  /** The Service; undefined for what is none (another kind of backend, a gate). */
  readonly service: { readonly namespace: string; readonly name: string } | undefined;
  /** JSON pointer to the object that the fields are in. */
  readonly path: string;
  readonly fields: Fields;
}

/** The weight that a service has, if one is written. */
export function weightOf({ weight }: Fields): number | undefined {
  return typeof weight === 'number' ? weight : undefined;
}
