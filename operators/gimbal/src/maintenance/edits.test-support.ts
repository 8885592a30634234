import type { KubeObject } from '@capstan/kube';
import { type RouteKind, routeKinds } from './routes/index.ts';
import { away, play } from './shift.test-support.ts';

const kindOf = (id: string) => routeKinds().find((routes) => routes.id === id) as RouteKind;

export const X = { x: away };

interface Service {
  name: string;
  port: number;
  weight?: number;
}

export interface Rule {
  name?: string;
  match: string | undefined;
  services: Service[];
}

/** A route of either kind, as edits see it. */
export type Rules = Rule[];

export const KINDS = {
  proxy: {
    kind: kindOf('http-proxy'),
    write: (rules: Rules) => ({
      routes: rules.map(({ match, services }) => ({
        ...(match === undefined ? {} : { conditions: [{ prefix: match }] }),
        services,
      })),
    }),
    read: (spec: Spec): Rules =>
      (spec.routes ?? []).map(({ conditions, services }) => ({ match: conditions?.[0]?.prefix, services })),
  },
  gateway: {
    kind: kindOf('http-route'),
    write: (rules: Rules) => ({
      rules: rules.map(({ name, match, services }) => ({
        ...(name === undefined ? {} : { name }),
        ...(match === undefined ? {} : { matches: [{ path: { value: match } }] }),
        backendRefs: services,
      })),
    }),
    read: (spec: Spec): Rules =>
      (spec.rules ?? []).map(({ name, matches, backendRefs }) => ({
        ...(name === undefined ? {} : { name }),
        match: matches?.[0]?.path.value,
        services: backendRefs,
      })),
  },
};

interface Spec {
  routes?: { conditions?: { prefix: string }[]; services: Service[] }[];
  rules?: { name?: string; matches?: { path: { value: string } }[]; backendRefs: Service[] }[];
}

export type Shape = keyof typeof KINDS;

export const routeOf = (shape: Shape, rules: Rules): KubeObject =>
  ({
    apiVersion: 'x',
    kind: 'Route',
    metadata: { namespace: 'default', name: 'r' },
    spec: structuredClone(KINDS[shape].write(rules)),
  }) as KubeObject;

export const rulesIn = (shape: Shape, route: KubeObject): Rules =>
  structuredClone(KINDS[shape].read((route as unknown as { spec: Spec }).spec));

export type Edit = (rules: Rules) => void;

/** Drains x, makes the edits (each of them seen, or all at once), and resumes. */
export function edited(shape: Shape, before: Rules, edits: readonly Edit[], isSeen = true) {
  const { kind } = KINDS[shape];
  let played = play(kind, { route: routeOf(shape, before) }, X);
  const ambiguous: string[] = [];
  const check = () => {
    played = play(kind, played, X);
    ambiguous.push(...played.shift.ambiguous.map(({ note }) => note));
  };
  for (const edit of edits) {
    const rules = rulesIn(shape, played.route);
    edit(rules);
    played = { ...played, route: routeOf(shape, rules) };
    if (isSeen) check();
  }
  check();
  const resumed = play(kind, played, {});
  ambiguous.push(...resumed.shift.ambiguous.map(({ note }) => note));
  return { rules: rulesIn(shape, resumed.route), state: resumed.state, ambiguous: [...new Set(ambiguous)] };
}

export function meant(before: Rules, edits: readonly Edit[]): Rules {
  const rules = structuredClone(before);
  for (const edit of edits) edit(rules);
  return rules;
}

export const service = (name: string, weight?: number, port = 80): Service => ({
  name,
  port,
  ...(weight === undefined ? {} : { weight }),
});

export const at = (rules: Rules, rule: number, entry: number) => rules[rule]?.services[entry] as Service;
