// Carries out the decisions of a plan in a text. Each document is rewritten by itself and read again. If its meaning is not the intended
// one, the document's values are written as YAML again.
import { equal, isJsonObject, type JsonObject } from '@capstan/kube';
import { parseDocument, stringify } from 'yaml';
import { type ParsedDocument, type ParsedObject, YAML_OPTIONS } from './documents.ts';
import { packageEdits } from './edit-package.ts';
import { applyEdits, breakOf, type Edit } from './edits.ts';
import type { ConversionFinding } from './finding.ts';
import { nameOf } from './manifest.ts';
import type { ConversionPlan } from './plan.ts';
import { writeRuntimeConfig } from './write-runtime-config.ts';

export interface Rewritten {
  readonly text: string;
  readonly findings: readonly ConversionFinding[];
}

export function rewrite(
  text: string,
  documents: readonly ParsedDocument[],
  { replacements }: ConversionPlan,
): Rewritten {
  const findings: ConversionFinding[] = [];
  const edits: Edit[] = [];
  for (const parsed of documents) {
    const concerned = parsed.objects.filter((object) => replacements.has(object));
    if (concerned.length === 0) continue;
    const wanted = expected(parsed, replacements);
    const own = documentEdits(parsed, concerned);
    if (own !== undefined && meansIt(applyEdits(text, own, parsed.start, parsed.end), wanted)) {
      edits.push(...own);
      continue;
    }
    const { range } = parsed.document.contents ?? {};
    if (range) edits.push({ start: range[0], end: range[1], text: renewed(wanted) });
    for (const object of concerned) findings.push(note(object, 'it was rewritten, without its comments and its style'));
  }
  return { text: applyEdits(text, edits), findings };

  function documentEdits(parsed: ParsedDocument, concerned: readonly ParsedObject[]): Edit[] | undefined {
    const own: Edit[] = listKindEdits(parsed);
    for (const object of concerned) {
      const replacement = replacements.get(object);
      if (replacement?.how === 'package') {
        const some = packageEdits(text, object.node, replacement.change);
        if (some === undefined) return undefined;
        own.push(...some);
      } else if (replacement !== undefined) {
        const written = writeRuntimeConfig(text, object.node, parsed.document, replacement.value);
        if (!written.keepsComments)
          findings.push(note(object, 'its aliases were written out, and its comments are not kept'));
        own.push({ start: object.node.range[0], end: object.node.range[1], text: written.text });
      }
    }
    return own;
  }

  /** A list of ControllerConfigs alone is a list of something else now. */
  function listKindEdits({ document, objects }: ParsedDocument): Edit[] {
    const kind = document.get('kind', true) as { value?: unknown; range?: [number, number, number] } | undefined;
    const apiVersion = document.get('apiVersion', true) as typeof kind;
    if (kind?.value !== 'ControllerConfigList' || !kind.range) return [];
    const versions = new Set(objects.map((object) => replacements.get(object)?.value['apiVersion']));
    const [version, ...others] = [...versions];
    if (typeof version !== 'string' || others.length > 0)
      return [{ start: kind.range[0], end: kind.range[1], text: 'List' }, ...versionEdit(apiVersion, 'v1')];
    return [
      { start: kind.range[0], end: kind.range[1], text: 'DeploymentRuntimeConfigList' },
      ...versionEdit(apiVersion, version),
    ];
  }

  function renewed(value: unknown): string {
    const fresh = stringify(value, { ...YAML_OPTIONS, lineWidth: 0 });
    return breakOf(text) === '\n' ? fresh : fresh.replaceAll('\n', '\r\n');
  }
}

function versionEdit(node: { range?: [number, number, number] } | undefined, text: string): Edit[] {
  return node?.range ? [{ start: node.range[0], end: node.range[1], text }] : [];
}

function note(object: ParsedObject, message: string): ConversionFinding {
  const subject = `${String(object.value['kind'])} ${nameOf(object.value)}`;
  return { level: 'note', place: object.place, subject, message, changes: [] };
}

/** Returns the intended value of the document. */
function expected({ document, objects }: ParsedDocument, replacements: ConversionPlan['replacements']): unknown {
  const values = new Map(objects.map((object) => [object.value, replacements.get(object)?.value ?? object.value]));
  const whole: unknown = document.toJS();
  const [first] = objects;
  if (objects.length === 1 && first && equal(first.value, whole)) return values.get(first.value);
  const queue = objects.map((object) => values.get(object.value));
  return fill(whole, queue);
}

/** Puts the objects into the places of a List's items, in their order. */
function fill(value: unknown, queue: unknown[]): unknown {
  if (!isJsonObject(value) || typeof value['kind'] !== 'string') return value;
  if (!value['kind'].endsWith('List') || !Array.isArray(value['items'])) return queue.shift();
  const items = (value['items'] as unknown[]).map((item) => fill(item, queue));
  return { ...value, ...listIdentity(value, items), items };
}

function listIdentity(list: JsonObject, items: readonly unknown[]): JsonObject {
  if (list['kind'] !== 'ControllerConfigList') return {};
  const versions = [
    ...new Set(
      items.map((item) => (isJsonObject(item) && item['kind'] === 'DeploymentRuntimeConfig' ? item['apiVersion'] : '')),
    ),
  ];
  const [version] = versions;
  return versions.length === 1 && typeof version === 'string' && version !== ''
    ? { apiVersion: version, kind: 'DeploymentRuntimeConfigList' }
    : { apiVersion: 'v1', kind: 'List' };
}

function meansIt(text: string, wanted: unknown): boolean {
  try {
    const document = parseDocument(text, YAML_OPTIONS);
    return document.errors.length === 0 && equal(document.toJS() as unknown, wanted);
  } catch {
    return false;
  }
}
