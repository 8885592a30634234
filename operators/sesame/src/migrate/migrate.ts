// From the file (and the Deployment's flags) to the resource, and back. Lossless: the configurations in force before and after are
// compared, and nothing is printed when they differ.
import { equal, isJsonObject } from '@capstan/kube/values';
import { Document, stringify } from 'yaml';
import { type EffectiveConfiguration, effectiveConfiguration } from '../configuration/effective.ts';
import { LEAVES, valueAt } from '../configuration/fields.ts';
import { effectiveOfFile, fileFormOf, fileProblemText, readConfigurationFile } from '../configuration/file/index.ts';
import { problemText } from '../configuration/problem.ts';
import { parseServeFlags, SERVE_FLAGS } from '../configuration/serve-flags.ts';
import { DEFAULT_NAMESPACE, GROUP, VERSION } from '../kinds/group.ts';
import { carryComments } from './comments.ts';
import { type InputFile, type Inputs, readInputs } from './inputs.ts';
import { resourceSpecOf } from './resource-spec.ts';
import { unknownFields } from './unknown-fields.ts';

export interface MigrateOptions {
  readonly to: 'resource' | 'file';
  /** The name of the resource. */
  readonly name: string;
  /** The namespace of Sesame; default the one in a manifest, or the default namespace. */
  readonly namespace?: string | undefined;
  /** Every value, defaults too. */
  readonly isFull?: boolean;
  /** Unknown keys are dropped with a warning. */
  readonly isLenient?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Migration {
  /** The resource or the file; undefined when there are errors. */
  readonly output: string | undefined;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** Further steps for the user: flags that stay, flags that go. */
  readonly notes: readonly string[];
}

/** Migrates the content of the files. Pure. */
export function migrate(files: readonly InputFile[], options: MigrateOptions): Migration {
  const inputs = readInputs(files, options.env);
  const broken = inputs.problems.map((problem) => fileProblemText(problem.file, problem));
  if (broken.length > 0) return { output: undefined, errors: broken, warnings: [], notes: [] };
  if (inputs.resource !== undefined)
    return options.to === 'resource' ? unchanged(inputs.resource) : toFile(inputs.resource, options, inputs);
  if (inputs.contours !== undefined && options.to === 'resource') return fromContour(inputs.contours, options, inputs);
  if (options.to === 'file')
    return failed(['there is no SesameConfiguration in the input; give its manifest, or use --to resource']);
  return toResource(inputs, options);
}

function failed(errors: readonly string[], warnings: readonly string[] = []): Migration {
  return { output: undefined, errors, warnings, notes: [] };
}

function unchanged({ name, text, object }: NonNullable<Inputs['resource']>): Migration {
  const { errors, warnings } = effectiveConfiguration({ given: specOf(object) });
  const all = [...errors.map((problem) => problemText(problem)), ...unknownFields(specOf(object))];
  return {
    output: all.length === 0 ? text : undefined,
    errors: all.map((problem) => `${name}: error: ${problem}`),
    warnings: warnings.map((problem) => `${name}: warning: ${problemText(problem)}`),
    notes: [`${name} is a SesameConfiguration already and is printed unchanged`],
  };
}

function toResource(inputs: Inputs, options: MigrateOptions): Migration {
  const { configuration = { name: 'no file', text: '', lineOffset: 0, columnOffset: 0 }, flags } = inputs;
  if (inputs.configuration === undefined && flags === undefined)
    return failed([
      'there is no configuration in the input; give a file, a ConfigMap with sesame.yaml, or a Deployment',
    ]);
  const namespace = options.namespace ?? inputs.namespace ?? DEFAULT_NAMESPACE;
  const content = readConfigurationFile(configuration.text, { isLenient: options.isLenient === true });
  const watchNamespaces = flags?.start.get('watch-namespaces')?.split(',');
  const { effective, problems } = effectiveOfFile(content, {
    path: configuration.name,
    namespace,
    watchNamespaces,
    ...(flags && { flags: flags.fields }),
  });
  const line = (severity: 'error' | 'warning') =>
    problems
      .filter((problem) => problem.severity === severity)
      .map((problem) =>
        fileProblemText(configuration.name, {
          ...problem,
          line: problem.line + configuration.lineOffset,
          column: problem.column + configuration.columnOffset,
        }),
      );
  const faults = (flags?.faults ?? []).map(({ flag, problem }) => `${flags?.from ?? ''}: error: ${flag} ${problem}`);
  const errors = [...line('error'), ...faults];
  if (errors.length > 0) return failed(errors, line('warning'));
  const spec = resourceSpecOf(effective.value, namespace, options.isFull);
  const after = effectiveConfiguration({ given: spec, watchNamespaces, namespace });
  const different = differences(effective.value, after.value);
  if (after.errors.length > 0 || different.length > 0)
    return failed([
      ...after.errors.map((problem) => `the resource would not be valid: ${problemText(problem)}`),
      ...different.map(
        (path) => `spec.${path}: would not have the same value; set it by hand and report this as a bug`,
      ),
    ]);
  const inNamespace = options.namespace ?? inputs.namespace;
  const document = new Document({
    apiVersion: `${GROUP}/${VERSION}`,
    kind: 'SesameConfiguration',
    metadata: { name: options.name, ...(inNamespace !== undefined && { namespace: inNamespace }) },
    spec,
  });
  carryComments(configuration.text, content, document);
  const output = document.toString({ lineWidth: 0 });
  return { output, errors: [], warnings: line('warning'), notes: resourceNotes(options.name, content.flags, inputs) };
}

function resourceNotes(name: string, stays: ReadonlyMap<string, string>, { flags }: Inputs): string[] {
  const notes = [...stays].map(([flag, value]) => `${flag} of the file stays a flag: --${flag}=${value}`);
  if (flags === undefined) return notes;
  for (const { name: flag, written, value } of flags.given) {
    if (flag === 'config-path') notes.push(`replace ${written} ${value} by --sesame-config=${name}`);
    else if (flag === 'sesame-config') continue;
    else if ((SERVE_FLAGS[flag]?.paths.length ?? 0) > 0)
      notes.push(`${written} is in the resource now and can be removed`);
    else notes.push(`${written} stays a flag`);
  }
  return notes;
}

/** Defaults of a ContourConfiguration that are not those of a SesameConfiguration. */
const CONTOURS_DEFAULTS = { envoy: { service: { namespace: 'projectcontour', name: 'envoy' } } };

interface ContoursSpec {
  readonly xdsServer?: { readonly type?: string };
  readonly envoy?: { readonly service?: object };
}

/** Reports whether the parts that are read here are objects. The schema reports those that are not. */
function isTyped(given: unknown): given is ContoursSpec {
  if (!isJsonObject(given)) return false;
  return ['xdsServer', 'envoy'].every((name) => (given[name] ?? undefined) === undefined || isJsonObject(given[name]));
}

function withContoursDefaults(given: ContoursSpec): object {
  const { type, ...server } = given.xdsServer ?? {};
  return {
    ...given,
    ...(given.xdsServer && { xdsServer: { ...server, ...(type !== undefined && type !== 'contour' && { type }) } }),
    envoy: { ...given.envoy, service: given.envoy?.service ?? CONTOURS_DEFAULTS.envoy.service },
  };
}

/** Contour's resource has the fields of ours. Defaults that differ are written out, and names of Contour itself are left out. */
function fromContour(
  { name, object }: NonNullable<Inputs['contours']>,
  options: MigrateOptions,
  inputs: Inputs,
): Migration {
  const namespace = options.namespace ?? inputs.namespace ?? DEFAULT_NAMESPACE;
  const given = specOf(object);
  const before = effectiveConfiguration({ given: isTyped(given) ? withContoursDefaults(given) : given, namespace });
  const warnings = before.warnings.map((problem) => `${name}: warning: ${problemText(problem)}`);
  const errors = [...before.errors.map((problem) => problemText(problem)), ...unknownFields(specOf(object))];
  if (errors.length > 0)
    return failed(
      errors.map((problem) => `${name}: error: ${problem}`),
      warnings,
    );
  const spec = resourceSpecOf(before.value, namespace, options.isFull);
  const different = differences(before.value, effectiveConfiguration({ given: spec, namespace }).value);
  if (different.length > 0)
    return failed(
      different.map((path) => `spec.${path}: would not have the same value; set it by hand and report this as a bug`),
      warnings,
    );
  const inNamespace = options.namespace ?? inputs.namespace;
  const output = stringify(
    {
      apiVersion: `${GROUP}/${VERSION}`,
      kind: 'SesameConfiguration',
      metadata: { name: options.name, ...(inNamespace !== undefined && { namespace: inNamespace }) },
      spec,
    },
    { lineWidth: 0 },
  );
  return { output, errors: [], warnings, notes: resourceNotes(options.name, new Map(), inputs) };
}

function toFile({ name, object }: NonNullable<Inputs['resource']>, options: MigrateOptions, inputs: Inputs): Migration {
  const namespace = options.namespace ?? inputs.namespace ?? DEFAULT_NAMESPACE;
  const before = effectiveConfiguration({ given: specOf(object), namespace });
  const warnings = before.warnings.map((problem) => `${name}: warning: ${problemText(problem)}`);
  const errors = [...before.errors.map((problem) => problemText(problem)), ...unknownFields(specOf(object))];
  if (errors.length > 0)
    return failed(
      errors.map((problem) => `${name}: error: ${problem}`),
      warnings,
    );
  const { content, flags, lost } = fileFormOf(resourceSpecOf(before.value, namespace));
  const output = Object.keys(content).length === 0 ? '' : stringify(content, { lineWidth: 0 });
  const after = effectiveOfFile(readConfigurationFile(output), {
    path: 'file',
    namespace,
    flags: parseServeFlags(flags).fields,
  });
  const unsupported = new Set([
    ...lost.filter((path) => !path.startsWith('envoy.managed')),
    ...differences(before.value, after.effective.value),
  ]);
  for (const path of unsupported) if (path.startsWith('envoy.managed')) unsupported.delete(path);
  if (unsupported.size > 0)
    return failed(
      [...unsupported].map(
        (path) =>
          `${name}: error: spec.${path}: has no key in the file and no flag; remove it before going back to the file`,
      ),
      warnings,
    );
  return { output, errors: [], warnings, notes: flags.map((flag) => `needs the flag ${flag}`) };
}

function specOf(object: unknown): unknown {
  return isJsonObject(object) ? (object['spec'] ?? {}) : {};
}

/** Leaves that differ between two configurations. */
export function differences(left: EffectiveConfiguration, right: EffectiveConfiguration): string[] {
  return LEAVES.filter((path) => !equal(valueAt(left, path), valueAt(right, path)));
}
