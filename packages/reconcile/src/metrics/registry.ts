// A small Prometheus registry: counters, gauges and histograms with labels. A family is registered once, by name; a series appears in the
// exposition once it was requested by `of`. A value that is cheaper to read than to keep (sizes, ages) has a `collect`, which is called at
// a scrape.

import { MetricErrors } from '../errors.ts';
import { guardedOr } from '../guard.ts';
import { type Exposition, exposition, negotiate, type Snapshot, type SnapshotSample } from './exposition.ts';

export interface Registry {
  /** Counts up; its name ends in `_total`. */
  counter<L extends string = never>(options: CollectedOptions<L>): Family<L, Counter>;
  gauge<L extends string = never>(options: CollectedOptions<L>): Family<L, Gauge>;
  histogram<L extends string = never>(options: HistogramOptions<L>): Family<L, Histogram>;
  /** Everything, in the format that an HTTP Accept header asks for. */
  expose(accept?: string): Exposition;
}

export interface FamilyOptions<L extends string> {
  name: string;
  help: string;
  labels?: readonly L[];
}

export interface CollectedOptions<L extends string> extends FamilyOptions<L> {
  /** Called at every scrape instead of keeping series: each series once. */
  collect?(): Iterable<readonly [labels: Labels<L>, value: number]>;
}

export interface HistogramOptions<L extends string> extends FamilyOptions<L> {
  /** Upper bounds, ascending, without +Inf. */
  buckets: readonly number[];
}

export type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Family<L extends string, S> {
  /** The series with these label values; keep it where it is used often. */
  of(...labels: [L] extends [never] ? [] : [Labels<L>]): S;
  /** Forgets a series, of something that is gone. */
  remove(...labels: [L] extends [never] ? [] : [Labels<L>]): void;
}

export interface Counter {
  /** Adds; `by` is 1 unless given, and never negative. */
  inc(by?: number): void;
}

export interface Gauge {
  set(value: number): void;
  add(by: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

export function createRegistry(): Registry {
  const families = new Map<string, () => Snapshot>();

  function register<L extends string, S>(type: Snapshot['type'], options: CollectedOptions<L>, make: () => Cell<S>) {
    const { name, help, labels = [], collect } = options;
    checkNames(type, name, labels);
    if (families.has(name)) throw MetricErrors.Duplicate(name);
    const series = createSeries(name, labels, make);
    const collected = () =>
      // A figure that cannot be found is left out of this scrape; all others are shown.
      guardedOr<SnapshotSample[], SnapshotSample[]>(
        `collect of the metric ${name}`,
        () =>
          [...(collect?.() ?? [])].map(([values, value]) =>
            sampleOf('', labels, valuesOf(name, labels, values), value),
          ),
        () => [],
      );
    const samples = collect === undefined ? series.samples : collected;
    families.set(name, () => ({ name, help, type, samples: samples() }));
    return series;
  }

  return {
    counter: (options) => register('counter', options, () => createCounter(options.name)),
    gauge: (options) => register('gauge', options, createGauge),
    histogram(options) {
      const { name, buckets } = options;
      if (buckets.some((bound, index) => !(bound > (buckets[index - 1] ?? Number.NEGATIVE_INFINITY)))) {
        throw MetricErrors.BadBuckets(name);
      }
      return register('histogram', options, () => createHistogram(buckets));
    },
    expose(accept) {
      return exposition(
        [...families.values()].map((snapshot) => snapshot()),
        negotiate(accept),
      );
    },
  };
}

/** A series with its values for a scrape. */
interface Cell<S> {
  readonly series: S;
  samples(labels: readonly string[], values: readonly string[]): SnapshotSample[];
}

function createSeries<L extends string, S>(name: string, labels: readonly L[], make: () => Cell<S>) {
  const cells = new Map<string, { values: readonly string[]; cell: Cell<S> }>();
  if (labels.length === 0) cells.set('', { values: [], cell: make() });
  return {
    of(...[given]: [] | [Labels<L>]): S {
      const key = keyOf(name, labels, given);
      let entry = cells.get(key);
      if (entry === undefined) {
        entry = { values: valuesOf(name, labels, given), cell: make() };
        cells.set(key, entry);
      }
      return entry.cell.series;
    },
    remove(...[given]: [] | [Labels<L>]): void {
      cells.delete(keyOf(name, labels, given));
    },
    samples: () => [...cells.values()].flatMap(({ values, cell }) => cell.samples(labels, values)),
  };
}

function valuesOf<L extends string>(name: string, labels: readonly L[], given: Labels<L> | undefined): string[] {
  return labels.map((label) => valueOf(name, label, given));
}

/** The values as one text, without a list of them: it is asked for every time that something is counted. */
function keyOf<L extends string>(name: string, labels: readonly L[], given: Labels<L> | undefined): string {
  let key = '';
  for (const label of labels) key += `${valueOf(name, label, given)}\u0000`;
  return key;
}

function valueOf<L extends string>(name: string, label: L, given: Labels<L> | undefined): string {
  const value = given?.[label];
  if (value === undefined) throw MetricErrors.NoLabel(name, label);
  return value;
}

function createCounter(name: string): Cell<Counter> {
  let value = 0;
  return {
    series: {
      inc(by = 1) {
        if (!(by >= 0)) throw MetricErrors.CountsDown(name, by);
        value += by;
      },
    },
    samples: (labels, values) => [sampleOf('', labels, values, value)],
  };
}

function createGauge(): Cell<Gauge> {
  let value = 0;
  return {
    series: {
      set(next) {
        value = next;
      },
      add(by) {
        value += by;
      },
    },
    samples: (labels, values) => [sampleOf('', labels, values, value)],
  };
}

function createHistogram(buckets: readonly number[]): Cell<Histogram> {
  const counts = Array.from({ length: buckets.length + 1 }, () => 0);
  let sum = 0;
  return {
    series: {
      observe(value) {
        sum += value;
        counts[bucketOf(buckets, value)]! += 1;
      },
    },
    samples(labels, values) {
      let count = 0;
      const samples = counts.map((own, index) => {
        count += own;
        return sampleOf('_bucket', labels, values, count, buckets[index] ?? Number.POSITIVE_INFINITY);
      });
      return [...samples, sampleOf('_sum', labels, values, sum), sampleOf('_count', labels, values, count)];
    },
  };
}

/** The first bucket whose bound is not below the value. */
function bucketOf(buckets: readonly number[], value: number): number {
  let low = 0;
  let high = buckets.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (value <= buckets[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
}

function sampleOf(
  suffix: SnapshotSample['suffix'],
  labels: readonly string[],
  values: readonly string[],
  value: number,
  bound?: number,
): SnapshotSample {
  return { suffix, labels: labels.map((label, index) => [label, values[index] ?? '']), value, bound };
}

function checkNames(type: Snapshot['type'], name: string, labels: readonly string[]): void {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw MetricErrors.BadName(name);
  if (type === 'counter' && !name.endsWith('_total')) throw MetricErrors.NotTotal(name);
  for (const label of labels) {
    const isReserved = label.startsWith('__') || (type === 'histogram' && label === 'le');
    if (isReserved || !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label)) throw MetricErrors.BadLabel(name, label);
  }
}
