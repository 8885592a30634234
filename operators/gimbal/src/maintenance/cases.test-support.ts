import type { KubeObject } from '@capstan/kube';
import type { Leaving } from './drain.ts';
import { type RouteKind, routeKinds } from './routes/index.ts';
import { away } from './shift.test-support.ts';

const kinds = new Map(routeKinds().map((routes) => [routes.id, routes]));

export const kindOf = (id: string) => kinds.get(id) as RouteKind;

/** The written weight; `_` means none. */
type Weight = number | '_';

export function proxy(services: Record<string, Weight | object>, more: object = {}): KubeObject {
  const list = Object.entries(services).map(([name, weight]) => ({
    name,
    port: 80,
    ...(typeof weight === 'object' ? weight : weight === '_' ? {} : { weight }),
  }));
  return routeOf({ routes: [{ conditions: [{ prefix: '/' }], services: list, ...more }] });
}

export function httpRoute(references: Record<string, Weight>, more: object = {}): KubeObject {
  const list = Object.entries(references).map(([name, weight]) => ({
    name,
    port: 80,
    ...(weight === '_' ? {} : { weight }),
  }));
  return routeOf({ rules: [{ matches: [{ path: { value: '/' } }], backendRefs: list, ...more }] });
}

export const routeOf = (spec: object): KubeObject =>
  ({ apiVersion: 'x', kind: 'Route', metadata: { namespace: 'default', name: 'r' }, spec }) as KubeObject;

export function weights(route: KubeObject): Weight[] {
  const { spec } = route as unknown as {
    spec: { routes?: { services: Entry[] }[]; rules?: { backendRefs: Entry[] }[] };
  };
  const entries = [
    ...(spec.routes ?? []).map(({ services }) => services),
    ...(spec.rules ?? []).map((one) => one.backendRefs),
  ];
  return entries.flat().map(({ weight }) => weight ?? '_');
}

interface Entry {
  weight?: number;
}

interface Case {
  what: string;
  id?: string;
  route: KubeObject;
  leaving?: Record<string, Leaving>;
  weights: Weight[];
  blocked?: string;
}

export const X = { x: away };

export const XY = { x: away, y: away };

export const keep = { x: { ...away, onNoCapacity: 'Keep' as const } };

export const reject = { x: { ...away, onNoCapacity: 'Reject' as const } };

export const CASES: Case[] = [
  { what: '1: weights on both', route: proxy({ 'x-a': 50, 'y-b': 50 }), weights: [0, 50] },
  { what: '2: no weights', route: proxy({ 'x-a': '_', 'y-b': '_' }), weights: [0, 1] },
  { what: '3: a standby without weight', route: proxy({ 'x-a': 100, 'y-b': '_' }), weights: [0, 1] },
  {
    what: '4: an explicit 0 (Zero): with zeros alone Contour would send requests to it',
    route: proxy({ 'x-a': 100, 'y-b': 0 }),
    weights: [100, 0],
    blocked: 'NoCapacity',
  },
  {
    what: '4: an explicit 0 within the backend (Zero)',
    route: proxy({ 'x-a': 100, 'x-b': 0 }),
    weights: [100, 0],
    blocked: 'NoCapacity',
  },
  {
    what: '4: an explicit 0 (Zero), where zeros mean nothing',
    id: 'sesame-http-proxy',
    route: proxy({ 'x-a': 100, 'y-b': 0 }),
    weights: [0, 0],
    blocked: 'NoCapacity',
  },
  {
    what: '4: all at 0, which is nothing',
    id: 'sesame-http-proxy',
    route: proxy({ 'x-a': 0, 'y-b': 0 }),
    weights: [0, 0],
    blocked: 'NoCapacity',
  },
  { what: '4: all at 0, which Contour shares out evenly', route: proxy({ 'x-a': 0, 'y-b': 0 }), weights: [0, 1] },
  {
    what: '4: an explicit 0 (Keep)',
    route: proxy({ 'x-a': 100, 'y-b': 0 }),
    leaving: keep,
    weights: [100, 0],
    blocked: 'NoCapacity',
  },
  {
    what: '4: an explicit 0 (promoteZero)',
    route: proxy({ 'x-a': 100, 'y-b': 0 }),
    leaving: { x: { ...away, promoteZero: true } },
    weights: [0, 1],
  },
  { what: '5: the only service (Zero)', route: proxy({ 'x-a': '_' }), weights: [0], blocked: 'NoCapacity' },
  {
    what: '5: the only service (Keep)',
    route: proxy({ 'x-a': '_' }),
    leaving: keep,
    weights: ['_'],
    blocked: 'NoCapacity',
  },
  {
    what: '6: a split within the backend (Zero)',
    route: proxy({ 'x-a': 90, 'x-b': 10 }),
    weights: [0, 0],
    blocked: 'NoCapacity',
  },
  {
    what: '6: a split within the backend (Keep)',
    route: proxy({ 'x-a': 90, 'x-b': 10 }),
    leaving: keep,
    weights: [90, 10],
    blocked: 'NoCapacity',
  },
  { what: '7: three backends', route: proxy({ 'x-a': 20, 'y-b': 30, 'z-c': 50 }), weights: [0, 30, 50] },
  { what: '8: two of three', route: proxy({ 'x-a': 20, 'y-b': 30, 'z-c': 50 }), leaving: XY, weights: [0, 0, 50] },
  {
    what: '9: all, without weights (Zero)',
    route: proxy({ 'x-a': '_', 'y-b': '_' }),
    leaving: XY,
    weights: [0, 0],
    blocked: 'NoCapacity',
  },
  { what: '10: the other one', route: proxy({ 'x-a': '_', 'y-b': '_' }), leaving: { y: away }, weights: [1, 0] },
  { what: '11: at 0 already', route: proxy({ 'x-a': 0, 'y-b': 50 }), weights: [0, 50] },
  { what: '12: a mirror', route: proxy({ 'x-a': { mirror: true }, 'y-b': '_' }), weights: [0, 1] },
  { what: '13: Gateway API, both at 1', id: 'http-route', route: httpRoute({ 'x-a': 1, 'y-b': 1 }), weights: [0, 1] },
  {
    what: '13: Gateway API, weights left out',
    id: 'http-route',
    route: httpRoute({ 'x-a': '_', 'y-b': '_' }),
    weights: [0, '_'],
  },
  {
    what: '14: Gateway API, the only one (Zero)',
    id: 'http-route',
    route: httpRoute({ 'x-a': 1 }),
    weights: [0],
    blocked: 'NoCapacity',
  },
  {
    what: '14: Gateway API, the only one (Keep)',
    id: 'http-route',
    route: httpRoute({ 'x-a': 1 }),
    leaving: keep,
    weights: [1],
    blocked: 'NoCapacity',
  },
  {
    what: '14: Gateway API, the only one (Reject)',
    id: 'http-route',
    route: httpRoute({ 'x-a': 1 }),
    leaving: reject,
    weights: [0],
    blocked: 'NoCapacity',
  },
  { what: '17: a service of this cluster takes over', route: proxy({ 'local-l': '_', 'x-a': '_' }), weights: [1, 0] },
  {
    what: '31: on the way, weights of 100 and more',
    route: proxy({ 'x-a': 100, 'y-b': 100 }),
    leaving: { x: { ...away, keep: 0.8 } },
    weights: [80, 100],
  },
  {
    what: '31: on the way, small weights',
    route: proxy({ 'x-a': '_', 'y-b': '_' }),
    leaving: { x: { ...away, keep: 0.6 } },
    weights: [60, 100],
  },
  {
    what: '31: on the way, a standby takes what is given up',
    route: proxy({ 'x-a': 100, 'y-b': '_' }),
    leaving: { x: { ...away, keep: 0.2 } },
    weights: [20, 80],
  },
  {
    what: '31: on the way without capacity',
    route: proxy({ 'x-a': 5 }),
    leaving: { x: { ...away, keep: 0.2 } },
    weights: [5],
    blocked: 'NoCapacity',
  },
];
