// The outcomes that gateways publish on their Endpoints, one for every other cluster. A member's copy of an
// Endpoint keeps the outcome for that member alone. A change of one pair is therefore written on its two ends, and not
// on every member of the set.
import { isJsonObject } from '@capstan/kube';
import type { Content } from './content.ts';

/** On an Endpoint: the clusters by the outcome that its gateway resolved for them, as JSON. */
export const RESOLVED_ANNOTATION = 'submariner.io/resolved-cables';

/** The text of the annotation; the order in which clusters arrived does not count. */
export function formatOutcomes(outcomes: ReadonlyMap<string, string>): string {
  const byOutcome = Map.groupBy([...outcomes.keys()].toSorted(), (cluster) => outcomes.get(cluster) ?? '');
  return JSON.stringify(Object.fromEntries([...byOutcome].toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** The outcome that an Endpoint published for one cluster. */
export type PublishedOutcome =
  /** Its gateway has an earlier version and publishes nothing. */
  | { readonly state: 'unpublished' }
  /** Its gateway has not resolved the pair yet. */
  | { readonly state: 'unresolved' }
  | { readonly state: 'resolved'; readonly outcome: string };

export function publishedFor(text: string | undefined, cluster: string): PublishedOutcome {
  if (text === undefined) return { state: 'unpublished' };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { state: 'unpublished' };
  }
  const entries = isJsonObject(parsed) ? Object.entries(parsed) : [];
  const found = entries.find(([, clusters]) => Array.isArray(clusters) && clusters.includes(cluster));
  return found === undefined ? { state: 'unresolved' } : { state: 'resolved', outcome: found[0] };
}

/** The content of an Endpoint as the copy of one member holds it. */
export function contentForCopy(content: Content, cluster: string): Content {
  const text = content.annotations[RESOLVED_ANNOTATION];
  if (text === undefined) return content;
  const published = publishedFor(text, cluster);
  const own = published.state === 'resolved' ? new Map([[cluster, published.outcome]]) : new Map<string, string>();
  return { ...content, annotations: { ...content.annotations, [RESOLVED_ANNOTATION]: formatOutcomes(own) } };
}
