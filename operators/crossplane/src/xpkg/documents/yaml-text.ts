// One YAML document to its value. Imports nothing but the parser: a thread that parses must start quickly.
import { parseDocument, type Tags } from 'yaml';

/** Reads a document as Kubernetes' tools do: `yes` and 0644 have their meaning of YAML 1.1, and times stay texts. */
export function valueOfYaml(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    const document = parseDocument(text, {
      version: '1.1',
      customTags: jsonTags,
      prettyErrors: false,
      logLevel: 'error',
    });
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown };
  } catch (error) {
    // Nesting without end exhausts the stack; that too is the document's fault.
    if (error instanceof RangeError) return { problem: 'it is nested too deeply' };
    return { problem: (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').trim() };
  }
}

/** Dates, sexagesimal numbers, sets and bytes of YAML 1.1: users do not intend them, and none of them is JSON. */
function jsonTags(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' ||
      (!('format' in tag && tag.format === 'TIME') && !/:(?:timestamp|binary|set|omap|pairs)$/.test(tag.tag)),
  );
}
