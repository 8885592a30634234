// Rules of TLSRoutes and TCPRoutes: a connection goes to one of the backends of the first rule.
import type { Destination } from '../../model/route.ts';
import type { StreamRule } from '../api/objects.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { type BackendContext, resolveBackend } from './backends.ts';
import type { StreamTarget } from './translated-route.ts';

/** A connection cannot be matched by anything, so only the first rule can count. */
export function translateStream(rules: readonly StreamRule[], context: BackendContext): StreamTarget {
  const { kind, namespace, name } = context;
  const refProblems: RefProblem[] = [];
  const destinations = (rules[0]?.backendRefs ?? []).map((ref, index): Destination => {
    const at = `spec.rules[0].backendRefs[${index}]`;
    const found = resolveBackend(ref, context, at);
    const weight = ref.weight ?? 1;
    if (found.isOk) return { cluster: found.value, weight };
    refProblems.push({ ...found.problem, message: `${at}: ${found.problem.message}` });
    return { cluster: undefined, weight };
  });
  return {
    destinations: destinations.filter(({ weight }) => weight > 0),
    refProblems,
    origin: { kind, namespace, name, path: 'spec.rules[0]' },
  };
}
