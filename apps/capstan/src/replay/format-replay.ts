import type { OpenedRecording, ReplayReport } from '@capstan/reconcile';
import type { VersionReport } from './compare-versions.ts';

const READS = 8;

export function formatReplay({ header }: OpenedRecording, report: ReplayReport, versions?: VersionReport): string {
  const { waves, from, to, compared, differing, notRun, unknownTables } = report;
  const lines = [
    `${count(waves, 'wave')} from ${timeOf(from.at)} to ${timeOf(to.at)}, recorded by ${header.version} with ${header.operators.join(', ')}`,
  ];
  for (const one of header.unseen) lines.push(`the recording does not have ${one}`);
  if (unknownTables.length > 0) lines.push(`these operators do not read ${unknownTables.join(', ')}`);
  if (report.unrestored.length > 0)
    lines.push(
      `the recording begins with a snapshot, which does not hold the previous results of ${report.unrestored.join(', ')}: what follows from them may differ`,
    );
  if (notRun > 0)
    lines.push(
      `${count(notRun, 'result')} of functions that read Secrets were taken from the recording (record with --with-secrets to run them)`,
    );
  lines.push(
    differing === 0
      ? `${count(compared, 'result')} compared: all are equal`
      : `${differing} of ${count(compared, 'result')} differ:`,
  );
  for (const { wave, at, name, key, how, reads, moved } of report.differences) {
    lines.push(`  wave ${wave} (${timeOf(at)}): ${name} ${key}: ${how}`);
    for (const read of moved.slice(0, READS)) lines.push(`    this read changed: ${read}`);
    const others = reads.filter((read) => !moved.includes(read));
    for (const read of others.slice(0, READS)) lines.push(`    it reads ${read}`);
    if (moved.length === 0 && reads.length > 0)
      lines.push(
        '    none of its reads changed since the last equal result: it depends on something else (try --check-purity)',
      );
  }
  if (versions !== undefined) {
    lines.push(
      versions.differing === 0
        ? `${versions.path} comes to the same ${count(versions.compared, 'result')}`
        : `${versions.path}: ${versions.differing} of ${count(versions.compared, 'result')} differ:`,
    );
    for (const { wave, name, key, how } of versions.differences) lines.push(`  wave ${wave}: ${name} ${key}: ${how}`);
  }
  return `${lines.join('\n')}\n`;
}

function timeOf(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString() : 'the start';
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}
