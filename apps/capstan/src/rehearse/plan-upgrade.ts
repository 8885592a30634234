// `capstan plan upgrade`: the operators of this version over a cluster in which another version runs, with the flags of that one.
import { type Client, type DefinedKind, discover, type Kind, systemClock, type ValueChange } from '@capstan/kube';
import { count } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import type { GivenInstallation } from '../install/install-options.ts';
import { findInstalled } from '../install/installed.ts';
import { installationObjects } from '../install/manifests.ts';
import { gatewayImage } from '../install/operator-args.ts';
import { type FormatPlanOptions, valueLine } from '../plan/format-plan.ts';
import { VERSION } from '../version.ts';
import { isSettled, rehearsalLines, sinkLines } from './format-rehearsal.ts';
import { installationChanges, type ObjectChange } from './installation-changes.ts';
import { type NarrowedSchema, narrowedSchemas } from './narrowed-schemas.ts';
import { type Rehearsal, rehearseOperators } from './rehearse-operators.ts';

export interface UpgradeReport extends Rehearsal {
  readonly from: string;
  readonly to: string;
  readonly operators: readonly string[];
  /** The objects of the installation that differ, without those that differ in their version alone. */
  readonly installation: readonly ObjectChange[];
  /** Deployments of Capstan that only get the new image: their pods are replaced one by one. */
  readonly rolled: readonly string[];
  readonly schemas: readonly NarrowedSchema[];
  /** True if anything but the programs themselves would change. */
  readonly differs: boolean;
}

export type RehearsalFlags = GivenInstallation['flags'] & {
  readonly timeout: number;
  readonly offline?: boolean | undefined;
  readonly 'watch-namespaces'?: readonly string[] | undefined;
};

export async function planUpgrade(
  args: OperatorArgs & { readonly flags: RehearsalFlags },
  io: Io,
  client: Client,
): Promise<UpgradeReport> {
  const { signal, clock = systemClock } = io;
  const { timeout: timeoutMs, offline, 'watch-namespaces': watchNamespaces } = args.flags;
  const { operators, installation, deployments } = await findInstalled(args, io, client);
  const { foundations, workloads } = installationObjects(installation);
  const served = await discover(client, { signal });
  const found = await installationChanges([...foundations, ...[...workloads.values()].flat()], {
    client,
    served,
    signal,
  });
  const kinds = operators.flatMap((operator) => operator.kinds).filter(isDefined);
  const schemas = await narrowedSchemas(found.definitions, kinds, { client, signal });
  const versions = deployments.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/version'] ?? 'unknown');
  const changed = found.changes.map(withoutVersion);
  const rehearsal = await rehearseOperators(
    {
      operators,
      client,
      clock,
      signal,
      timeoutMs,
      namespace: installation.namespace,
      ...(watchNamespaces && { watchNamespaces }),
      ...(offline && { isOffline: true }),
      onFact: (what) => io.stderr(`Finding out ${what} …\n`),
    },
    (_runtime, rehearsed) => rehearsed,
  );
  const different = changed.filter(({ verb, changes }) => verb === 'create' || changes.length > 0);
  return {
    from: [...new Set(versions)].join(', '),
    to: VERSION,
    operators: operators.map(({ name }) => name),
    installation: different,
    rolled: found.changes.filter(({ disturbs }) => disturbs !== undefined).map(({ object }) => object),
    schemas,
    ...rehearsal,
    unread: [...found.unread, ...schemas.flatMap(({ unread }) => unread ?? []), ...rehearsal.unread],
    differs: different.length > 0 || !isSettled(rehearsal),
  };
}

function isDefined(kind: Kind): kind is DefinedKind {
  return 'validate' in kind;
}

/** Removes the version and the image of Capstan's own objects, which every upgrade changes. */
function withoutVersion(change: ObjectChange): ObjectChange {
  const images = change.changes.find(({ path }) => IMAGE.test(path));
  const { before: old, after: next } = images ?? {};
  const follows = ({ before, after }: ValueChange) =>
    typeof old === 'string' &&
    typeof next === 'string' &&
    typeof before === 'string' &&
    [before.replace(old, next), before.replace(gatewayImage(plain(old)), gatewayImage(plain(next)))].includes(
      String(after),
    );
  const isOwn = (one: ValueChange) =>
    VERSIONED.test(one.path) || IMAGE.test(one.path) || (ARGUMENT.test(one.path) && follows(one));
  return { ...change, changes: change.changes.filter((one) => !isOwn(one)) };
}

/** The image of gateways cannot follow from a digest. */
const plain = (image: string) => image.replace(/@.*$/, '');
const IMAGE = /^spec\.template\.spec\.containers\[\d+\]\.image$/;
const ARGUMENT = /^spec\.template\.spec\.containers\[\d+\]\.args\[\d+\]$/;

const VERSIONED =
  /^(?:metadata\.labels|spec\.template\.metadata\.labels)(?:\.app\.kubernetes\.io\/version|\["app\.kubernetes\.io\/version"\])$/;

const MOST_OBJECTS = 20;

export function formatUpgrade(report: UpgradeReport, options: FormatPlanOptions): string {
  const { from, to, installation, rolled, schemas, sinks, unread, unknowns, refusals, operators } = report;
  const { bold, red, yellow } = options.colours;
  const step = `Capstan ${from} → ${to} (${operators.join(', ')})`;
  const own = rolled.length === 0 ? '' : `; ${count(rolled.length, 'Deployment')} of its own would roll`;
  const messages = sinks.map(({ sink, messages }) => `${sink} (${count(messages, 'message')})`).join(', ');
  const compared = sinks.length === 0 ? '' : `; messages of ${messages} are not compared`;
  if (!report.differs && [unread, unknowns, refusals].every((some) => some.length === 0))
    return `${step}: nothing in this cluster would change${own}${compared}. Nothing has been written.\n`;
  const lines = [bold(step)];
  if (installation.length > 0)
    lines.push('', bold('Installation:'), ...installation.flatMap((one) => changeLines(one, options)));
  for (const { kind, changes, invalid } of schemas) {
    lines.push('', yellow(bold(`The schema of ${kind} accepts less:`)), ...changes.map((one) => `  ~ ${one}`));
    if (invalid.length === 0) continue;
    lines.push(
      red(bold(`  ${count(invalid.length, 'stored object')} would be refused at the next edit:`)),
      ...invalid.slice(0, MOST_OBJECTS).map((one) => `  ! ${one}`),
      ...(invalid.length > MOST_OBJECTS ? [`  … and ${invalid.length - MOST_OBJECTS} more`] : []),
    );
  }
  lines.push(...rehearsalLines(report, options));
  lines.push(...sinkLines(sinks, options));
  const differs = report.differs ? 'The upgrade would make these changes' : 'No change was found in what could be read';
  lines.push('', `${differs}${own}. Nothing has been written.`);
  return `${lines.join('\n')}\n`;
}

function changeLines(
  { object, verb, changes, rights }: ObjectChange,
  { colours, isWide }: FormatPlanOptions,
): string[] {
  const first =
    verb === 'create' ? `  ${colours.green('+ create')} ${object}` : `  ${colours.yellow('~ change')} ${object}`;
  const values = (some: readonly ValueChange[]) => some.map((change) => `      ${valueLine(change, isWide)}`);
  if (rights === undefined) return [first, ...values(changes)];
  const others = changes.filter(({ path }) => !path.startsWith('rules'));
  return [
    first,
    ...rights.added.map((right) => `      + may ${right}`),
    ...rights.removed.map((right) => `      - may no longer ${right}`),
    ...values(others),
  ];
}
