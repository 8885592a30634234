import type { Registry } from './registry.ts';

/** What the process takes, under the names that Prometheus' own clients use. Read when they are asked for. */
export function processMetrics(registry: Registry): void {
  registry.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process.',
    collect: () => [[{}, process.memoryUsage.rss()]] as const,
  });
  registry.gauge({
    name: 'nodejs_heap_size_total_bytes',
    help: 'Memory that the heap of this process takes.',
    collect: () => [[{}, process.memoryUsage().heapTotal]] as const,
  });
  registry.gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'Memory that is in use in the heap of this process.',
    collect: () => [[{}, process.memoryUsage().heapUsed]] as const,
  });
  registry.counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of this process.',
    collect: () => [[{}, cpuSeconds()]] as const,
  });
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
