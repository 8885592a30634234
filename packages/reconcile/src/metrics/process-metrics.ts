import { readdirSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import type { Registry } from './registry.ts';

/** Registers the figures of the process, under the names that Prometheus' own clients use. */
export function processMetrics(registry: Registry): void {
  resourceMetrics(registry);
  eventLoopMetrics(registry);
  garbageCollectionMetrics(registry);
}

function resourceMetrics(registry: Registry): void {
  const gauge = (name: string, help: string, value: () => number) =>
    registry.gauge({ name, help, collect: () => [[{}, value()]] as const });
  gauge('process_resident_memory_bytes', 'Memory of this process.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_total_bytes', 'Memory that the heap of this process takes.', () => {
    return process.memoryUsage().heapTotal;
  });
  gauge('nodejs_heap_size_used_bytes', 'Memory that is in use in the heap of this process.', () => {
    return process.memoryUsage().heapUsed;
  });
  gauge('process_start_time_seconds', 'Start of this process, in seconds since the epoch.', () => {
    return performance.timeOrigin / 1000;
  });
  registry.counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of this process.',
    collect: () => [[{}, cpuSeconds()]] as const,
  });
  registry.gauge({
    name: 'process_open_fds',
    help: 'Open files and sockets of this process (Linux only).',
    collect: () => openFiles().map((count) => [{}, count] as const),
  });
  registry.gauge({
    name: 'nodejs_active_resources',
    help: 'Timers, sockets and other resources that keep the event loop alive, by type.',
    labels: ['type'],
    *collect() {
      const counts = new Map<string, number>();
      for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
      for (const [type, count] of counts) yield [{ type }, count] as const;
    },
  });
}

/**
 * The delay of the event loop is sampled ten times a second, so that a process at rest stays at rest. A block of 100 ms or more is always
 * seen, a shorter one in proportion to its length.
 */
const SAMPLE_MS = 100;

function eventLoopMetrics(registry: Registry): void {
  const { delays } = processMonitor();
  // The histogram holds the time between two samples, in nanoseconds.
  const lag = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - SAMPLE_MS / 1000);
  const figures = {
    mean: () => delays.mean,
    p50: () => delays.percentile(50),
    p99: () => delays.percentile(99),
    max: () => delays.max,
  };
  for (const [figure, value] of Object.entries(figures)) {
    registry.gauge({
      name: `nodejs_eventloop_lag_${figure}_seconds`,
      help: `Delay of the event loop since the last scrape: ${figure}.`,
      collect() {
        const seconds = delays.count === 0 ? 0 : lag(value());
        // Families are collected in the order of their registration, and `max` is the last one.
        if (figure === 'max') delays.reset();
        return [[{}, seconds]] as const;
      },
    });
  }
}

function garbageCollectionMetrics(registry: Registry): void {
  const { collections } = processMonitor();
  registry.counter({
    name: 'nodejs_gc_total',
    help: 'Garbage collections, by kind.',
    labels: ['kind'],
    collect: () => [...collections].map(([kind, { count }]) => [{ kind }, count] as const),
  });
  registry.counter({
    name: 'nodejs_gc_duration_seconds_total',
    help: 'Time that garbage collections took, by kind.',
    labels: ['kind'],
    collect: () => [...collections].map(([kind, { seconds }]) => [{ kind }, seconds] as const),
  });
}

/** The measurements that Node.js makes while the process runs. */
interface ProcessMonitor {
  readonly delays: ReturnType<typeof monitorEventLoopDelay>;
  readonly collections: Map<string, { count: number; seconds: number }>;
}

let monitor: ProcessMonitor | undefined;

/** Returns the one monitor of this process, which has one event loop and one heap however many registries it has. */
function processMonitor(): ProcessMonitor {
  if (monitor !== undefined) return monitor;
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  const collections: ProcessMonitor['collections'] = new Map();
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail?: { kind: number } })[]) {
      const kind = COLLECTIONS[entry.detail?.kind ?? -1] ?? 'other';
      const { count, seconds } = collections.get(kind) ?? { count: 0, seconds: 0 };
      collections.set(kind, { count: count + 1, seconds: seconds + entry.duration / 1000 });
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  monitor = { delays, collections };
  return monitor;
}

const COLLECTIONS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** Returns the number of open files, or nothing on systems without /proc. */
function openFiles(): readonly number[] {
  try {
    // Reading the folder opens one file more.
    return [readdirSync('/proc/self/fd').length - 1];
  } catch {
    return [];
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
