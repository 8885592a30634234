import { HTTP_PROXIES, INGRESS_ROUTE } from './contour.ts';
import { gatewayRoutes } from './gateway.ts';
import { INGRESS } from './ingress.ts';
import type { RouteKind } from './route-kind.ts';

export type { RouteKind } from './route-kind.ts';

/** Every kind of route whose references to a backend are managed. */
export function routeKinds(): readonly RouteKind[] {
  return [...HTTP_PROXIES, INGRESS_ROUTE, ...gatewayRoutes(), INGRESS];
}
