// The answer to a scrape: the Prometheus text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/) or OpenMetrics
// 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/), whichever was requested.

export interface Snapshot {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  samples: readonly SnapshotSample[];
}

export interface SnapshotSample {
  suffix: '' | '_bucket' | '_sum' | '_count';
  labels: readonly (readonly [name: string, value: string])[];
  value: number;
  /** The upper bound of a bucket. */
  bound: number | undefined;
}

export type Format = 'text' | 'openmetrics';

export interface Exposition {
  contentType: string;
  body: string;
}

export function exposition(families: readonly Snapshot[], format: Format): Exposition {
  const lines: string[] = [];
  for (const family of families) {
    if (family.samples.length === 0) continue;
    // OpenMetrics names a counter's family without the suffix that its samples carry.
    const isBare = format === 'openmetrics' && family.type === 'counter';
    const name = isBare ? family.name.replace(/_total$/, '') : family.name;
    lines.push(`# HELP ${name} ${escapeHelp(family.help, format)}`, `# TYPE ${name} ${family.type}`);
    for (const sample of family.samples) lines.push(line(family.name, sample, format));
  }
  if (format === 'openmetrics') lines.push('# EOF');
  return { contentType: CONTENT_TYPES[format], body: lines.length === 0 ? '' : `${lines.join('\n')}\n` };
}

const CONTENT_TYPES: Record<Format, string> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** OpenMetrics when it is preferred to plain text, plain text otherwise. */
export function negotiate(accept: string | undefined): Format {
  let text = 0;
  let openmetrics = 0;
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    const version = parameters.find((parameter) => parameter.startsWith('version='))?.slice(8) ?? '1.0.0';
    if (type === 'application/openmetrics-text' && version === '1.0.0') openmetrics = Math.max(openmetrics, weight);
    else if (type === 'text/plain' || type === 'text/*' || type === '*/*') text = Math.max(text, weight);
  }
  return openmetrics > 0 && openmetrics >= text ? 'openmetrics' : 'text';
}

function line(name: string, sample: SnapshotSample, format: Format): string {
  const pairs = sample.labels.map(([label, value]) => `${label}="${escapeLabel(value)}"`);
  if (sample.bound !== undefined) pairs.push(`le="${boundText(sample.bound, format)}"`);
  const labels = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  return `${name}${sample.suffix}${labels} ${numberText(sample.value)}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}

/** OpenMetrics wants bounds as floating-point numbers: `1.0`, not `1`. */
function boundText(bound: number, format: Format): string {
  return format === 'openmetrics' && Number.isInteger(bound) ? bound.toFixed(1) : numberText(bound);
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function escapeHelp(help: string, format: Format): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
