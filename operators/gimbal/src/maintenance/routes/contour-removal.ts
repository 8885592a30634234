import { type Json, listIn, objectIn, textIn } from './json.ts';
import type { IsGone, Reduced } from './route-kind.ts';

/** The fate of a rule that is left without services. Contour wants exactly one of services, redirect or direct response. */
type WhenEmpty = 'respond' | 'drop';

/** HTTPProxy answers 503 where nothing is left; an IngressRoute loses the rule, if it has others. */
export function withoutContourServices(spec: Json, isGone: IsGone, whenEmpty: WhenEmpty): Reduced {
  const removed: { at: string; services: readonly unknown[] }[] = [];
  const warnings: string[] = [];
  const routes = listIn(spec['routes']);
  const kept = routes.flatMap((one, at) => {
    const { rule, isEmpty, gone } = reduced(objectIn(one), isGone);
    if (!isEmpty) return [rule];
    const place = `routes[${at}]`;
    if (whenEmpty === 'respond') {
      removed.push({ at: place, services: gone });
      warnings.push(`${place} has no service left: it answers 503`);
      const { services: _services, ...others } = rule;
      return [{ ...others, directResponsePolicy: { statusCode: 503 } }];
    }
    removed.push({ at: place, services: gone });
    return [];
  });
  const tcp = spec['tcpproxy'] === undefined ? undefined : reduced(objectIn(spec['tcpproxy']), isGone);
  const isLastRoute = routes.length > 0 && kept.length === 0;
  const isLastTcp = tcp?.isEmpty === true && routes.length === 0;
  if (isLastRoute || isLastTcp) {
    const what = isLastRoute ? 'its only rule' : 'its tcpproxy';
    return { spec, removed: [], warnings: [`${what} leads to nothing else: the reference stays`], isOrphaned: true };
  }
  if (tcp?.isEmpty) removed.push({ at: 'tcpproxy', services: tcp.gone });
  const { tcpproxy: _tcpproxy, ...others } = spec;
  const after = {
    ...others,
    ...(spec['routes'] === undefined ? {} : { routes: kept }),
    ...(tcp === undefined || tcp.isEmpty ? {} : { tcpproxy: tcp.rule }),
  };
  return { spec: after, removed, warnings, isOrphaned: false };
}

function reduced(rule: Json, isGone: IsGone): { rule: Json; isEmpty: boolean; gone: readonly unknown[] } {
  const services = listIn(rule['services']);
  const isLeft = (one: unknown) => !isGone(textIn(objectIn(one)['name']) ?? '');
  const left = services.filter(isLeft);
  if (left.length === services.length) return { rule, isEmpty: false, gone: [] };
  const takers = left.filter((one) => objectIn(one)['mirror'] !== true);
  const isEmpty = takers.length === 0;
  // With the last that takes requests go those that only see copies of them.
  const gone = isEmpty ? services : services.filter((one) => !isLeft(one));
  return { rule: { ...rule, services: withShare(left) }, isEmpty, gone };
}

/** Who was at 0 beside those that went must not stay there alone. */
function withShare(services: readonly unknown[]): readonly unknown[] {
  const takers = services.map(objectIn).filter(({ mirror }) => mirror !== true);
  const isIdle = takers.length > 0 && takers.every(({ weight }) => weight === 0);
  return isIdle
    ? services.map((one) => (objectIn(one)['mirror'] === true ? one : { ...objectIn(one), weight: 1 }))
    : services;
}
