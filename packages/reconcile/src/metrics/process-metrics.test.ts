import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { processMetrics } from './process-metrics.ts';
import { createRegistry } from './registry.ts';

function scraped() {
  const registry = createRegistry();
  processMetrics(registry);
  return (name: string): number | undefined => {
    const line = registry
      .expose()
      .body.split('\n')
      .find((text) => text.startsWith(`${name} `) || text.startsWith(`${name}{`));
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
  };
}

describe('metrics of the process', () => {
  test('a blocked event loop shows in the delay of one scrape', async () => {
    const registry = createRegistry();
    processMetrics(registry);
    const maximum = () => Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(registry.expose().body)?.[1]);
    maximum();
    // A delay is the time between two samples, so the first sample must be taken before the block.
    await sleep(250);
    const until = performance.now() + 700;
    while (performance.now() < until);
    await sleep(250);
    const blocked = maximum();
    assert.ok(blocked >= 0.4, `the delay is ${blocked} s`);
    await sleep(250);
    const after = maximum();
    assert.ok(after < blocked, `the next scrape still shows ${after} s`);
  });

  test('garbage collections are counted by kind', async () => {
    const value = scraped();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collect();
    for (let tries = 0; tries < 50 && value('nodejs_gc_total{kind="major"}') === undefined; tries += 1) {
      await sleep(20);
    }
    assert.ok((value('nodejs_gc_total{kind="major"}') ?? 0) >= 1);
    assert.ok((value('nodejs_gc_duration_seconds_total{kind="major"}') ?? 0) > 0);
  });

  test('an open file raises the number of open files', { skip: process.platform !== 'linux' }, async () => {
    const value = scraped();
    const before = value('process_open_fds') ?? 0;
    const file = await open(new URL(import.meta.url));
    assert.equal(value('process_open_fds'), before + 1);
    await file.close();
  });

  test('a running timer is an active resource', () => {
    const value = scraped();
    const before = value('nodejs_active_resources{type="Timeout"}') ?? 0;
    const timer = setTimeout(() => undefined, 60_000);
    assert.equal(value('nodejs_active_resources{type="Timeout"}'), before + 1);
    clearTimeout(timer);
  });

  test('the start time lies in the past and does not move', () => {
    const value = scraped();
    const start = value('process_start_time_seconds') ?? 0;
    assert.ok(Math.abs(start - (Date.now() / 1000 - process.uptime())) < 5);
    assert.equal(value('process_start_time_seconds'), start);
  });
});
