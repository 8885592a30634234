import { resolve } from 'node:path';
import { type DefinedKind, type Kind, type KubeObject, kindId, silentLogger, systemClock } from '@capstan/kube';
import {
  findInstances,
  type Operator,
  openRecording,
  type PreviewChange,
  preview,
  SYSTEM_NAMESPACE,
} from '@capstan/reconcile';
import {
  command,
  count,
  formatReport,
  list,
  objectName,
  positiveDuration,
  REPORT_FORMATS,
  REPORT_OUTPUT,
  type Refusal,
  refuse,
  UsageErrors,
} from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { IMAGE_OPTIONS } from '../install/install-options.ts';
import { applyAndFollow } from '../plan/apply/follow.ts';
import { formatMarkdown } from '../plan/format-markdown.ts';
import { formatOutcome, formatPlan, type PlanReport } from '../plan/format-plan.ts';
import { failingEffects, GATES, type Gate } from '../plan/gate.ts';
import { givenManifests } from '../plan/given-manifests.ts';
import { knownKinds } from '../plan/known-kinds.ts';
import { predictRefusals } from '../plan/predict-refusals.ts';
import { readKustomization, readManifests } from '../plan/read-manifests.ts';
import { TOOLS, type ToolChoice } from '../plan/tool/assumed-tool.ts';
import { helmReleases } from '../plan/tool/helm-releases.ts';
import { mergeSchemas } from '../plan/tool/strategic-patch.ts';
import { warmRuntime } from '../plan/warm-runtime.ts';
import { type GivenChange, type LeftOut, leftOutOfReleases, wouldBeDropped } from '../plan/would-become.ts';
import { runTakeoverPlan, runUpgradePlan } from '../rehearse/rehearsal-commands.ts';
import { ioAtEnd } from '../replay/at-moment.ts';
import { recordedOperators } from '../replay/recorded-operators.ts';
import { readKey } from '../run/recording.ts';
import { coloursFor } from '../text/colours.ts';

/** With --exit-code. */
const DIFFERS = 3;
/** Parts of the cluster could not be seen. */
const INCOMPLETE = 1;

export default command({
  usage:
    'plan -f FILE… | -k FOLDER [--delete] [--apply] [--show-status] [--exit-code] [-o FORMAT] |\n' +
    '       plan upgrade [--image IMAGE] | plan takeover ORIGINAL [-f FILE]',
  description:
    'Shows what the operators would do once manifests are applied (or with --delete: deleted): for each object what is created,\n' +
    'changed (old value → new value), rolled and deleted, what the server would refuse, and what cannot be known beforehand. It\n' +
    'reads the cluster and writes nothing, except with --apply. With upgrade it shows what this version would do in a cluster in which\n' +
    'another one is installed, and with takeover what it would do where the original (contour, submariner, kroxylicious, gimbal,\n' +
    'crossplane) runs.',
  examples: [
    'capstan plan -f change.yaml',
    'kubectl create namespace edge --dry-run=client -o yaml | capstan plan -f -',
    'kubectl get kafkaproxies -A -o yaml | capstan plan -f - --delete --exit-code',
    'capstan plan -f deploy/ -R -o markdown --fail-on rolls,drains,tears,deletes',
    'capstan plan upgrade --exit-code',
    'capstan plan takeover kroxylicious',
  ],
  options: {
    filename: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'FILE',
      help: 'Manifests: a file, a folder, a URL, or - for standard input; may be repeated.',
    },
    recursive: { type: 'boolean', short: 'R', help: 'Read folders of -f with all folders inside them.' },
    kustomize: {
      type: 'string',
      short: 'k',
      value: 'FOLDER',
      help: 'A kustomization, built with kubectl or kustomize.',
    },
    delete: { type: 'boolean', help: 'Plan their deletion instead.' },
    tool: {
      type: 'string',
      oneOf: TOOLS,
      help: 'What will write the manifests; default the tool that manages each object today, else client-side-apply.',
    },
    'server-side': { type: 'boolean', help: 'The same as --tool=server-side-apply.' },
    'field-manager': { type: 'string', value: 'NAME', help: 'The field manager of that tool.' },
    'force-conflicts': { type: 'boolean', help: 'Server-side apply takes fields over from other field managers.' },
    'show-status': { type: 'boolean', help: 'Show what would be written to statuses too.' },
    apply: {
      type: 'boolean',
      help: 'Apply it if the plan still holds, follow what happens, and end with 3 unless it is as predicted.',
    },
    'fail-on': {
      type: 'string',
      value: 'LIST',
      parse: gates,
      help: `End with 3 when something ${GATES.join(', ')}; a list with commas.`,
    },
    against: {
      type: 'string',
      value: 'FILE',
      help: 'Plan against the end of a recording instead of a cluster (see capstan capture).',
    },
    key: { type: 'string', value: 'FILE', help: 'With --against: the key of an encrypted recording.' },
    image: { ...IMAGE_OPTIONS.image, help: 'With upgrade: the image of Capstan.' },
    replicas: { ...IMAGE_OPTIONS.replicas, help: 'With upgrade: how many of each operator.' },
    'exit-code': { type: 'boolean', help: 'End with 3 when something would change.' },
    offline: { type: 'boolean', help: 'Ask nothing outside of the cluster: no registry, for one.' },
    timeout: {
      type: 'string',
      value: 'DURATION',
      default: '30s',
      parse: positiveDuration,
      help: 'How long the caches may take to fill.',
    },
    'operator-namespace': {
      type: 'string',
      value: 'NAME',
      help: 'Where the operators run; default that of the context, or capstan-system.',
    },
    'watch-namespaces': {
      type: 'string',
      value: 'LIST',
      parse: list,
      help: 'What the operators are restricted to; default nothing.',
    },
    ...CLUSTER_OPTIONS,
    ...OPERATOR_OPTIONS,
    output: {
      ...REPORT_OUTPUT,
      oneOf: [...REPORT_FORMATS, 'markdown'],
      help: `${REPORT_OUTPUT.help.replace(/\.$/, '')}, markdown is a comment of a review.`,
    },
  },
  operatorFlags: true,
  positionals: 2,
  choices: ['upgrade', 'takeover'],
  async run(given, givenIo) {
    const [verb, original] = given.positionals;
    if (verb === 'upgrade' && original === undefined) return runUpgradePlan(given, givenIo);
    if (verb === 'takeover') return runTakeoverPlan(given, original, givenIo);
    if (verb !== undefined) throw UsageErrors.TooMany(given.command, original ?? verb);
    const { args, io } =
      given.flags.against === undefined
        ? { args: given, io: givenIo }
        : await atEndOf(given, given.flags.against, givenIo);
    const { flags } = args;
    const { signal, clock = systemClock } = io;
    const paths = flags.filename ?? [];
    const { kustomize } = flags;
    if (paths.length === 0 && kustomize === undefined)
      throw UsageErrors.Missing(args.command, 'manifests', `${args.command} -f change.yaml`);
    const { timeout: timeoutMs, 'watch-namespaces': watchNamespaces } = flags;
    const operators = await requireOperators(args, io);
    const manifests = [
      ...(await readManifests(paths, io, { isRecursive: flags.recursive ?? false })),
      ...(kustomize === undefined ? [] : await readKustomization(kustomize, io)),
    ];
    return withCluster(flags, io, async ({ client, namespace }) => {
      const kinds = knownKinds(operators, client, signal);
      const predicting = {
        client,
        signal,
        schemas: mergeSchemas(),
        releases: helmReleases(client, signal),
        choice: toolChoice(flags),
      };
      const { given: own, placed } = await givenManifests(manifests, {
        kinds,
        predicting,
        isDeletion: flags.delete ?? false,
        namespace,
        givenNamespace: flags.namespace,
      });
      const given = [...own];
      const leftOut = await leftOutOfReleases(predicting, given, placed);
      // A few objects of a release are an edit of these; a whole chart is given with --tool=helm.
      for (const one of flags.tool === 'helm' ? leftOut : []) {
        const kind = await kinds.kindOf({ place: `the release ${one.release.name}`, object: one.object });
        given.push(...[await wouldBeDropped(predicting, kind, one)].flatMap((change) => change ?? []));
      }
      const instances = await findInstances(operators, { client, clock, signal, given, timeoutMs });
      const all = [...operators, ...instances.operators];
      const { runtime, notes, unseen, stop } = await warmRuntime({
        operators,
        instances: instances.operators,
        client,
        clock,
        random: Math.random,
        logger: silentLogger,
        signal,
        timeoutMs,
        namespace: flags['operator-namespace'] ?? namespace,
        keyNamespaces: flags['operator-namespace'] ? [flags['operator-namespace']] : [SYSTEM_NAMESPACE, namespace],
        ...(watchNamespaces && { watchNamespaces }),
        ...(flags.offline && { isOffline: true }),
      });
      try {
        const changes = given.filter(({ verb }) => verb !== 'none');
        const predict = () =>
          preview(
            runtime,
            changes.map((change) => previewChange(change, kinds.seenAs(change.kind))),
            {
              clock,
              signal,
              factTimeoutMs: timeoutMs,
              onFact: (what) => io.stderr(`Finding out ${what} …\n`),
            },
          );
        const result = await predict();
        const { bodies, statuses: _foreseen, ...previewed } = result;
        const { refused, notAsked } = await predictRefusals(client, bodies, signal);
        const report: PlanReport = {
          given: given.map(({ verb, object, tool, paths, changes }) => ({ verb, object, tool, paths, changes })),
          ...previewed,
          unknowns: [...unseen, ...previewed.unknowns],
          refusals: refused,
          notes: [
            ...new Set([
              ...given.flatMap((change) => change.notes),
              ...(flags.tool === 'helm' ? [] : partialReleases(leftOut)),
              ...instances.notes,
              ...notes,
              ...unread(
                all,
                given.map(({ kind }) => kinds.seenAs(kind)),
              ),
              ...(notAsked === 0
                ? []
                : [
                    `whether the server would accept ${count(notAsked, 'write')} of the operators could not be checked`,
                  ]),
            ]),
          ],
        };
        const isApplied = flags.apply ?? false;
        const colours = coloursFor(io);
        const failing = failingEffects(report, flags['fail-on'] ?? []);
        for (const one of failing) io.stderr(`--fail-on: ${one}\n`);
        const print = async (shown: PlanReport) =>
          io.stdout(
            flags.output === 'markdown'
              ? formatMarkdown(shown, failing)
              : await formatReport(flags.output, {
                  value: shown,
                  text: (isWide) =>
                    formatPlan(shown, { isWide, colours, showStatus: flags['show-status'] ?? false, isApplied }),
                  names: () => changedNames(shown),
                }),
          );
        const isText = flags.output === 'table' || flags.output === 'wide';
        // A machine reads one document, with the end.
        if (!isApplied || isText) await print(report);
        if (failing.length > 0) return DIFFERS;
        if (isApplied) {
          if (unseen.length > 0) throw CliErrors.NotSeen(count(unseen.length, 'kind'));
          if (refused.length > 0) throw CliErrors.PlanRefused(count(refused.length, 'write'));
          const outcome = await applyAndFollow({
            client,
            clock,
            signal,
            runtime,
            operators: all,
            given,
            predicted: result,
            timeoutMs,
            again: predict,
          });
          if (isText) io.stdout(formatOutcome(outcome, colours));
          else await print({ ...report, outcome });
          return outcome.asPredicted ? 0 : DIFFERS;
        }
        if (unseen.length > 0) return INCOMPLETE;
        const differs = changes.length > 0 || result.writes.length > 0 || result.deliveries.length > 0;
        return flags['exit-code'] && differs ? DIFFERS : 0;
      } finally {
        await stop();
      }
    });
  },
});

function partialReleases(leftOut: readonly LeftOut[]): string[] {
  return [...Map.groupBy(leftOut, ({ release }) => release.name)].map(
    ([name, left]) =>
      `the Helm release ${name} has ${count(left.length, 'more object')}, taken as unchanged; give its whole manifest and --tool=helm to plan the upgrade`,
  );
}

function toolChoice(flags: {
  tool?: (typeof TOOLS)[number] | undefined;
  'server-side'?: boolean | undefined;
  'field-manager'?: string | undefined;
  'force-conflicts'?: boolean | undefined;
}): ToolChoice {
  const { 'field-manager': fieldManager, 'force-conflicts': forceConflicts, 'server-side': isServerSide } = flags;
  if (isServerSide && flags.tool !== undefined && flags.tool !== 'server-side-apply')
    throw UsageErrors.Conflicting('--server-side', `--tool=${flags.tool}`);
  const tool = isServerSide ? 'server-side-apply' : flags.tool;
  return {
    ...(tool && { tool }),
    ...(fieldManager !== undefined && { fieldManager }),
    ...(forceConflicts !== undefined && { forceConflicts }),
  };
}

/** Every object that would be written, except for its status alone. */
function changedNames({ given, writes }: PlanReport): readonly string[] {
  const objects = [
    ...given.filter(({ verb }) => verb !== 'none'),
    ...writes.filter(({ verb }) => verb !== 'status'),
  ].map(({ object }) => object);
  return [...new Set(objects)].map((object) => {
    const [kind = '', key = ''] = object.split(' ');
    return objectName(kind, key.split('/').at(-1) ?? key);
  });
}

function gates(text: string): readonly Gate[] | Refusal {
  const found = list(text);
  const isGate = (one: string): one is Gate => GATES.some((gate) => gate === one);
  return found.every(isGate) ? found : refuse(`use some of ${GATES.join(', ')}, with commas`);
}

/** The operators of a recording, and its end in place of the cluster. Nothing outside is asked. */
async function atEndOf<A extends OperatorArgs & { readonly flags: { readonly key: string | undefined } }>(
  args: A,
  file: string,
  io: Io,
): Promise<{ args: A; io: Io }> {
  const key = args.flags.key === undefined ? undefined : await readKey(args.flags.key, io.cwd);
  const recording = await openRecording(resolve(io.cwd, file), key);
  const operators = await recordedOperators(args, recording.header, io);
  const names = operators.map(({ name }) => name);
  const operatorFlags = { ...recording.header.operatorFlags, ...args.operatorFlags };
  return {
    args: { ...args, operatorFlags, flags: { ...args.flags, operators: names, offline: true } },
    io: ioAtEnd(recording, operators, io),
  };
}

/** In the form in which reconcilers see objects. */
function previewChange({ after, ref }: GivenChange, kind: Kind): PreviewChange {
  if (after === undefined) return { kind, ref, gone: true };
  const view: KubeObject = 'viewOf' in kind ? (kind as DefinedKind).viewOf(after) : after;
  return { kind, object: view };
}

/** Nothing can follow from an object that no reconciler reads. */
function unread(operators: readonly Operator[], given: readonly Kind[]): string[] {
  const read = new Set(
    operators
      .flatMap(({ reconcilers, sinks = [] }) => [
        ...reconcilers.flatMap(({ resource, reads, writes }) => [
          resource,
          ...[...reads, ...writes].map(({ kind }) => kind),
        ]),
        ...sinks.flatMap(({ reads }) => reads.map(({ kind }) => kind)),
      ])
      .map(kindId),
  );
  return given
    .filter((kind) => !read.has(kindId(kind)))
    .map((kind) => `none of the loaded operators reads ${kindId(kind)}`);
}
