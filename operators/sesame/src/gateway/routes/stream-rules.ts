// Rules of TLSRoutes and TCPRoutes: a connection goes to one of the backends of the first rule.
import type { Resource } from '../../xds/index.ts';
import type { StreamRule } from '../api/objects.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { type BackendContext, NO_BACKEND, resolveBackend } from './backends.ts';
import type { StreamTarget } from './translated-route.ts';

/** A connection cannot be matched by anything, so only the first rule can count. */
export function translateStream(rules: readonly StreamRule[], context: BackendContext): StreamTarget {
  const clusters: Resource[] = [];
  const refProblems: RefProblem[] = [];
  const weighted = (rules[0]?.backendRefs ?? []).map((ref, index) => {
    const found = resolveBackend(ref, context);
    const weight = ref.weight ?? 1;
    if ('reason' in found) {
      refProblems.push({ ...found, message: `spec.rules[0].backendRefs[${index}]: ${found.message}` });
      return { name: NO_BACKEND, weight };
    }
    clusters.push(found);
    return { name: found.name, weight };
  });
  return { clusters, weighted: weighted.filter(({ weight }) => weight > 0), refProblems };
}
