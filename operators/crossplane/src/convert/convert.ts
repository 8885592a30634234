// The conversion of a set of files: all of them are read before any decision is taken, since a package and its
// ControllerConfig are rarely in the same one.
import type { BuiltinSchemas } from '../runtime/check-template.ts';
import { parseDocuments } from './documents.ts';
import type { ConversionFinding } from './finding.ts';
import { planConversion } from './plan.ts';
import { rewrite } from './rewrite.ts';

export interface SourceFile {
  /** For messages. */
  readonly name: string;
  readonly text: string;
}

export interface ConvertOptions {
  readonly schemas: BuiltinSchemas;
  readonly apiVersion?: string;
  readonly nameSuffix?: string;
}

export interface Conversion {
  /** In the order of the input; a text that needed no change is the same. */
  readonly texts: readonly string[];
  readonly findings: readonly ConversionFinding[];
}

export const DEFAULT_API_VERSION = 'pkg.crossplane.io/v1beta1';

/** Converts ControllerConfigs and the packages that refer to them; throws when a file cannot be read as YAML. */
export function convertFiles(files: readonly SourceFile[], options: ConvertOptions): Conversion {
  const parsed = files.map(({ name, text }) => ({ text, documents: parseDocuments(text, name) }));
  const manifests = parsed.flatMap(({ documents }) => documents.flatMap(({ objects }) => objects));
  const { schemas, apiVersion = DEFAULT_API_VERSION, nameSuffix = '' } = options;
  const plan = planConversion(manifests, { schemas, apiVersion, nameSuffix });
  const rewritten = parsed.map(({ text, documents }) => rewrite(text, documents, plan));
  return {
    texts: rewritten.map(({ text }) => text),
    findings: [...plan.findings, ...rewritten.flatMap(({ findings }) => findings)],
  };
}
