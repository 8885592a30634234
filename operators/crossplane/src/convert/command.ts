// `crossplane convert deployment-runtime`, also as `crossplane beta convert deployment-runtime`.
import { parseArgs } from 'node:util';
import { CodedError, loadBuiltinSchemas } from '@capstan/kube';
import { PACKAGE_GROUP } from '../runtime/runtime-config.ts';
import { DEFAULT_STAGE, parseStage, STAGES, versionOfStage } from '../runtime/stages.ts';
import { convertFiles } from './convert.ts';
import { findingLine } from './finding.ts';
import { readInputs, STDIN } from './inputs.ts';
import type { ConvertIo } from './io.ts';
import { writeOutputs } from './outputs.ts';

export const CONVERT_HELP = `Usage: crossplane convert deployment-runtime [FILE|DIR|-]... [-f FILE|DIR|-]... [-o FILE|DIR|-]

Converts ControllerConfigs to DeploymentRuntimeConfigs and rewrites the Providers and Functions that refer to them.
Everything else is copied unchanged: other documents byte for byte, comments, order and style. What cannot be carried
over, or is ambiguous, is reported on standard error. Read ControllerConfigs and packages in one go: only together can they
be rewritten.

Examples:
  crossplane convert deployment-runtime -f packages.yaml -o converted.yaml
  crossplane convert deployment-runtime -f manifests/ -o converted/
  kubectl get controllerconfigs,providers.pkg -o yaml | crossplane convert deployment-runtime -f - --strict

Flags:
  -f, --filename FILE|DIR|-   What to read, again for more; standard input by default. Folders with all below them.
  -o, --output FILE|DIR|-     Where to write; standard output by default. A folder gets a file for each that was read.
      --in-place              Change the files where they are; those that need no change are not written.
      --dry-run               Write nothing but the report.
      --strict                End with 2 when the report has warnings.
      --name-suffix TEXT      Appended to the names of converted configs.
      --runtime-config-stage ${STAGES.join('|')}   Whose version is written; default ${DEFAULT_STAGE}.
  -h, --help                  Show this help.

Exit codes: 0 done, 1 an error (nothing was written), 2 warnings with --strict, or the command was not understood.
`;

const OPTIONS = {
  filename: { type: 'string', short: 'f', multiple: true },
  output: { type: 'string', short: 'o' },
  'in-place': { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  strict: { type: 'boolean' },
  'name-suffix': { type: 'string' },
  'runtime-config-stage': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Runs the command. `argv` holds the arguments after `convert` (`deployment-runtime`, flags). Resolves to the exit code. */
export async function convertCommand(argv: readonly string[], io: ConvertIo): Promise<number> {
  const [what, ...rest] = argv;
  if (what === undefined || what === '--help' || what === '-h') {
    io.stdout(CONVERT_HELP);
    return what === undefined ? 2 : 0;
  }
  if (what !== 'deployment-runtime') return misunderstood(`there is nothing to convert to called "${what}"`, io);
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(rest);
  } catch (error) {
    return misunderstood(error instanceof Error ? error.message : String(error), io);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    io.stdout(CONVERT_HELP);
    return 0;
  }
  const stage = parseStage(values['runtime-config-stage'] ?? DEFAULT_STAGE);
  if (stage === undefined) return misunderstood(`--runtime-config-stage must be one of ${STAGES.join(', ')}`, io);
  const output = values.output ?? STDIN;
  if (values['in-place'] && values.output !== undefined)
    return misunderstood('--in-place and -o exclude each other', io);
  const paths = [...(values.filename ?? []), ...positionals];
  try {
    const inputs = await readInputs(paths.length === 0 ? [STDIN] : paths, io);
    const { texts, findings } = convertFiles(inputs, {
      schemas: loadBuiltinSchemas(),
      apiVersion: `${PACKAGE_GROUP}/${versionOfStage(stage)}`,
      nameSuffix: values['name-suffix'] ?? '',
    });
    if (!values['dry-run']) await writeOutputs(inputs, texts, { output, inPlace: values['in-place'] ?? false }, io);
    for (const finding of findings) io.stderr(`${findingLine(finding)}\n`);
    return values.strict && findings.some(({ level }) => level === 'warning') ? 2 : 0;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    io.stderr(`error: ${error.message}\n`);
    return 1;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
}

function misunderstood(problem: string, io: ConvertIo): number {
  io.stderr(`error: ${problem}; see crossplane convert --help\n`);
  return 2;
}
