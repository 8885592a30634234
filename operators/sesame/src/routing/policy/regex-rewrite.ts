// Rewrites of paths by a regular expression, checked here because Envoy refuses the whole host for a mistake in one.
import { regexProblem } from '../../envoy/index.ts';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import type { PathRewrite } from '../../model/route.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { notRegex } from '../conditions.ts';

type Spec = NonNullable<NonNullable<ProxyRoute['pathRewritePolicy']>['replaceRegex']>;

/** Returns the rewrite, or its problem: `FIELD: …`. */
export function regexRewrite({ pattern, substitution }: Spec): Result<PathRewrite> {
  const problem = regexProblem(pattern);
  if (problem !== undefined) return refuse(`pattern: ${notRegex(pattern, problem)}`);
  const groups = groupsIn(pattern);
  for (const [reference, character = ''] of substitution.matchAll(/\\(.?)/gs)) {
    if (character === '\\') continue;
    if (!/^[0-9]$/.test(character))
      return refuse(
        `substitution: ${JSON.stringify(reference)} stands for nothing; write \\\\ for a backslash, or \\1 for the first group`,
      );
    if (Number(character) > groups)
      return refuse(
        `substitution: there is no group ${reference} (the pattern has ${groups}); add it to the pattern, or use another one`,
      );
  }
  return accept({ kind: 'regex', pattern, substitution });
}

/** Parentheses that capture: neither escaped, nor in a class, nor marked as a group that does not. */
function groupsIn(pattern: string): number {
  const plain = pattern.replace(/\\./gs, '').replace(/\[\^?\]?[^\]]*\]/g, '');
  return [...plain.matchAll(/\((?!\?(?!P?<))/g)].length;
}
