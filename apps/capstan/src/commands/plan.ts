import { type DefinedKind, type Kind, type KubeObject, kindId, silentLogger, systemClock } from '@capstan/kube';
import { type Operator, type PreviewChange, preview, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { command, json, list, positiveDuration, REPORT_OUTPUT, UsageErrors } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { formatPlan, type PlanReport } from '../plan/format-plan.ts';
import { knownKinds } from '../plan/known-kinds.ts';
import { type Manifest, readManifests } from '../plan/read-manifests.ts';
import { warmRuntime } from '../plan/warm-runtime.ts';
import { type GivenChange, wouldBecome, wouldBeDeleted } from '../plan/would-become.ts';

export default command({
  usage: 'plan -f FILE… [--delete] [--operator FILE] [-o json]',
  description:
    'Shows what applying (or with --delete: deleting) manifests would make the operators do: what is created, changed, rolled\n' +
    'and deleted, level by level, and what cannot be known beforehand. It reads the cluster and writes nothing.',
  examples: [
    'capstan plan -f change.yaml --operator ./my-operator.ts',
    'kubectl kustomize . | capstan plan -f - --operator ./my-operator.ts -o json',
    'capstan plan -f old.yaml --delete --exit-code --operator ./my-operator.ts',
  ],
  options: {
    filename: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'FILE',
      help: 'Manifests: a file, a folder, or - for standard input; may be repeated.',
    },
    delete: { type: 'boolean', help: 'Plan their deletion instead.' },
    'exit-code': { type: 'boolean', help: 'End with 2 when something would change.' },
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
    output: REPORT_OUTPUT,
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const { signal, clock = systemClock } = io;
    const paths = flags.filename ?? [];
    if (paths.length === 0) throw UsageErrors.Missing(args.command, 'manifests', `${args.command} -f change.yaml`);
    const { timeout: timeoutMs, 'watch-namespaces': watchNamespaces } = flags;
    const operators = await requireOperators(args, io);
    const manifests = await readManifests(paths, io);
    return withCluster(flags, io, async ({ client, namespace }) => {
      const kinds = knownKinds(operators, client, signal);
      const given: GivenChange[] = [];
      for (const manifest of manifests) {
        const kind = await kinds.kindOf(manifest);
        const placed = inNamespace(manifest, kind, namespace);
        given.push(await (flags.delete ? wouldBeDeleted : wouldBecome)(client, kind, placed, signal));
      }
      const { runtime, notes, stop } = await warmRuntime({
        operators,
        client,
        clock,
        random: Math.random,
        logger: silentLogger,
        signal,
        timeoutMs,
        namespace: flags['operator-namespace'] ?? namespace,
        keyNamespaces: flags['operator-namespace'] ? [flags['operator-namespace']] : [SYSTEM_NAMESPACE, namespace],
        ...(watchNamespaces && { watchNamespaces }),
      });
      try {
        const changes = given.filter(({ verb }) => verb !== 'none');
        const result = await preview(
          runtime,
          changes.map((change) => previewChange(change, kinds.seenAs(change.kind))),
        );
        const report: PlanReport = {
          given: given.map(({ verb, object, paths }) => ({ verb, object, paths })),
          ...result,
          notes: [
            ...new Set([
              ...given.flatMap(({ note }) => note ?? []),
              ...notes,
              ...unread(
                operators,
                given.map(({ kind }) => kinds.seenAs(kind)),
              ),
            ]),
          ],
        };
        io.stdout(flags.output === 'json' ? json(report) : formatPlan(report));
        return flags['exit-code'] && (changes.length > 0 || result.writes.length > 0 || result.deliveries.length > 0)
          ? 2
          : 0;
      } finally {
        await stop();
      }
    });
  },
});

function inNamespace({ place, object }: Manifest, kind: Kind, namespace: string): Manifest {
  const { namespace: own, ...metadata } = object.metadata;
  if (kind.scope === 'Cluster') return { place, object: { ...object, metadata } };
  return { place, object: { ...object, metadata: { ...metadata, namespace: own ?? namespace } } };
}

/** In the form in which reconcilers see objects. */
function previewChange({ after, ref }: GivenChange, kind: Kind): PreviewChange {
  if (after === undefined) return { kind, ref, gone: true };
  const view: KubeObject = 'viewOf' in kind ? (kind as DefinedKind).viewOf(after) : after;
  return { kind, object: view };
}

/** Nothing can follow from an object that nobody looks at; better said than wondered about. */
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
