import { type Json, listIn, objectIn, textIn } from './json.ts';
import type { IsGone, Reduced } from './route-kind.ts';

/** Removes paths to the removed Services, and rules without paths. An Ingress with nothing left would not be valid, and stays. */
export function withoutIngressServices(spec: Json, isGone: IsGone): Reduced {
  const isGoing = (backend: unknown) => isGone(textIn(objectIn(objectIn(backend)['service'])['name']) ?? '');
  const rules = listIn(spec['rules']).flatMap((one) => {
    const rule = objectIn(one);
    const http = objectIn(rule['http']);
    const paths = listIn(http['paths']);
    const left = paths.filter((path) => !isGoing(objectIn(path)['backend']));
    if (left.length === paths.length) return [rule];
    return left.length === 0 ? [] : [{ ...rule, http: { ...http, paths: left } }];
  });
  const { rules: _rules, defaultBackend, ...others } = spec;
  const isDefaultKept = defaultBackend !== undefined && !isGoing(defaultBackend);
  if (rules.length === 0 && !isDefaultKept)
    return { spec, removed: [], warnings: ['it leads to nothing else: the reference stays'], isOrphaned: true };
  const after = {
    ...others,
    ...(rules.length === 0 ? {} : { rules }),
    ...(isDefaultKept ? { defaultBackend } : {}),
  };
  return { spec: after, removed: [], warnings: [], isOrphaned: false };
}
