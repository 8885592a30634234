import { parseFieldSelector } from '../field-selector.ts';
import { parseLabelSelector } from '../label-selector.ts';
import type { KubeObject } from '../object.ts';

/** Which objects of a kind an informer copies. */
export interface Selection {
  /** Default: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Only the metadata of each object is asked for and kept. Default false. */
  metadataOnly?: boolean;
}

/**
 * Tells whether an object surely belongs to a selection. False also where that cannot be told here (field selectors
 * beyond name and namespace, selectors that the server will refuse): then only the watch knows.
 */
export function surelySelects({ namespace, labelSelector, fieldSelector }: Selection): (object: KubeObject) => boolean {
  try {
    const labels = parseLabelSelector(labelSelector ?? '');
    const fields = parseFieldSelector(fieldSelector ?? '');
    if (!fields.terms.every(({ field }) => KNOWN_FIELDS.has(field))) return () => false;
    return ({ metadata }) =>
      (!namespace || metadata.namespace === namespace) &&
      labels.matches(metadata.labels) &&
      fields.matches((field) => (field === 'metadata.name' ? metadata.name : metadata.namespace));
  } catch {
    return () => false;
  }
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);
