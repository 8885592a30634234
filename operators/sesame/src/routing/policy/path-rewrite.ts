// Prefix replacement: which rule applies to a route, and the routes that it is expanded into so that slashes stay consistent.
import { withoutTrailing } from '@capstan/kube';
import type { ProxyRoute } from '../../kinds/http-proxy.ts';
import type { RouteMatch } from '../../model/match.ts';
import { accept, type Result, refuse } from '../../result.ts';

export interface PrefixReplacement {
  readonly prefix: string;
  readonly replacement: string;
}

export interface RewriteProblem {
  readonly reason: 'MustHavePrefix' | 'DuplicateReplacement' | 'AmbiguousReplacement' | 'ReplacementNotValid';
  readonly problem: string;
}

type Rules = NonNullable<NonNullable<ProxyRoute['pathRewritePolicy']>['replacePrefix']>;

/** The replacement for the route's prefix; undefined when no rule is for it. */
export function prefixReplacement(
  rules: Rules,
  match: RouteMatch,
): Result<PrefixReplacement, RewriteProblem> | undefined {
  if (rules.length === 0) return undefined;
  if (match.path.kind !== 'prefix')
    return refuse({
      reason: 'MustHavePrefix',
      problem: 'pathRewritePolicy: the route has no prefix condition; add one, or remove the rewrite',
    });
  const seen = new Set<string>();
  const general: string[] = [];
  for (const [index, { prefix = '', replacement }] of rules.entries()) {
    // Envoy would answer every request with 400.
    if (replacement !== '' && !replacement.startsWith('/'))
      return refuse({
        reason: 'ReplacementNotValid',
        problem: `pathRewritePolicy.replacePrefix[${index}].replacement: ${JSON.stringify(replacement)} does not start with "/"; write ${JSON.stringify(`/${replacement}`)}`,
      });
    if (prefix === '') {
      general.push(prefix);
      if (general.length > 1)
        return refuse({
          reason: 'AmbiguousReplacement',
          problem:
            'pathRewritePolicy.replacePrefix: more than one entry has no prefix, so that it is not clear which counts; keep one of them',
        });
    } else if (seen.has(prefix))
      return refuse({
        reason: 'DuplicateReplacement',
        problem: `pathRewritePolicy.replacePrefix: the prefix ${JSON.stringify(prefix)} has more than one entry; keep one of them`,
      });
    seen.add(prefix);
  }
  const { value } = match.path;
  // A rule that names the prefix wins over the one for all.
  const rule =
    rules.find(({ prefix }) => prefix === value) ?? rules.find(({ prefix }) => prefix === undefined || prefix === '');
  return rule && accept({ prefix: value, replacement: rule.replacement });
}

/**
 * `/foo` to `/bar` must give `/bar` for `/foo` and `/bar/x` for `/foo/x`, with or without slashes at the end of either; one
 * Envoy route cannot do that. `siblings` are the other prefixes of the proxy: a form that it routes itself is left to it.
 */
export function expandReplacement(
  { prefix, replacement }: PrefixReplacement,
  siblings: ReadonlySet<string>,
): { prefix: string; rewrite: string }[] {
  const target = replacement === '' ? '/' : replacement;
  if (prefix === '/') return [{ prefix, rewrite: target }];
  const withoutSlash = withoutTrailing(prefix, '/');
  const withSlash = `${withoutSlash}/`;
  const other = prefix.endsWith('/') ? withoutSlash : withSlash;
  if (siblings.has(other)) return [{ prefix, rewrite: target }];
  const bare = withoutTrailing(target, '/');
  return [
    { prefix: withSlash, rewrite: `${bare}/` },
    { prefix: withoutSlash, rewrite: bare === '' ? '/' : bare },
  ];
}
