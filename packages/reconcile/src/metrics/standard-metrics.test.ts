import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { createQueue, done, RESYNC, runWorkers, terminal } from '../queue/index.ts';
import { createRegistry } from './registry.ts';
import { standardMetrics } from './standard-metrics.ts';

function setUp() {
  const registry = createRegistry();
  return { registry, metrics: standardMetrics(registry), lines: () => registry.expose().body.split('\n') };
}

describe('the standard metrics', () => {
  it('count the work of a queue and its workers under the names that controller-runtime users know', async () => {
    const { metrics, lines } = setUp();
    const clock = createVirtualClock();
    const queue = createQueue<string>({
      clock,
      name: 'proxy',
      observe: metrics.queue('proxy'),
    });
    const stop = new AbortController();
    const ended = runWorkers({
      queue,
      clock,
      signal: stop.signal,
      concurrency: 2,
      observe: metrics.workers('proxy', 2),
      handle(key) {
        if (key === 'bug') throw new Error('bug');
        return key === 'bad' ? terminal(new Error('bad')) : done;
      },
    });
    for (const key of ['good', 'bad', 'bug']) queue.add(key);
    await clock.settle();
    stop.abort();
    await ended;
    const expected = [
      'controller_runtime_reconcile_total{controller="proxy",result="success"} 1',
      'controller_runtime_reconcile_total{controller="proxy",result="error"} 2',
      'controller_runtime_reconcile_total{controller="proxy",result="requeue_after"} 0',
      'controller_runtime_reconcile_errors_total{controller="proxy"} 2',
      'controller_runtime_terminal_reconcile_errors_total{controller="proxy"} 1',
      'controller_runtime_reconcile_panics_total{controller="proxy"} 1',
      'controller_runtime_reconcile_time_seconds_count{controller="proxy"} 3',
      'controller_runtime_max_concurrent_reconciles{controller="proxy"} 2',
      'controller_runtime_active_workers{controller="proxy"} 0',
      'workqueue_adds_total{name="proxy",controller="proxy"} 3',
      'workqueue_retries_total{name="proxy",controller="proxy"} 1',
      'workqueue_queue_duration_seconds_count{name="proxy",controller="proxy"} 3',
      'workqueue_work_duration_seconds_bucket{name="proxy",controller="proxy",le="1e-8"} 3',
      'workqueue_work_duration_seconds_bucket{name="proxy",controller="proxy",le="1000"} 3',
    ];
    assert.deepEqual(
      expected.filter((line) => !lines().includes(line)),
      [],
    );
    assert.equal(
      lines().filter((line) => line.startsWith('controller_runtime_reconcile_time_seconds_bucket')).length,
      41,
    );
  });

  it('look at the depth and the age of a queue when they are scraped', async () => {
    const { metrics, lines } = setUp();
    const clock = createVirtualClock();
    const queue = createQueue<string>({ clock, name: 'q', observe: metrics.queue('q') });
    queue.add('a');
    queue.add('b', RESYNC);
    queue.take();
    await clock.advance(2_500);
    const expected = [
      'workqueue_depth{name="q",controller="q",priority="0"} 0',
      'workqueue_depth{name="q",controller="q",priority="-100"} 1',
      'workqueue_unfinished_work_seconds{name="q",controller="q"} 2.5',
      'workqueue_longest_running_processor_seconds{name="q",controller="q"} 2.5',
    ];
    assert.deepEqual(
      expected.filter((line) => !lines().includes(line)),
      [],
    );
  });

  it('count requests, retries and sizes by server', () => {
    const { metrics, lines } = setUp();
    const common = { method: 'GET' as const, host: 'h:443', seconds: 0.02, requestBytes: undefined };
    metrics.request({ ...common, code: 429, responseBytes: undefined, retry: 0 });
    metrics.request({ ...common, code: 200, responseBytes: 300, retry: 1 });
    const expected = [
      'rest_client_requests_total{code="429",method="GET",host="h:443"} 1',
      'rest_client_requests_total{code="200",method="GET",host="h:443"} 1',
      'rest_client_request_retries_total{code="200",verb="GET",host="h:443"} 1',
      'rest_client_request_duration_seconds_bucket{verb="GET",host="h:443",le="0.025"} 2',
      'rest_client_response_size_bytes_bucket{verb="GET",host="h:443",le="512"} 1',
    ];
    assert.deepEqual(
      expected.filter((line) => !lines().includes(line)),
      [],
    );
  });

  it('show who leads, how stale caches are, and what the engine does', () => {
    const { metrics, lines } = setUp();
    const leadership = metrics.leadership('sesame');
    assert.ok(lines().includes('leader_election_master_status{name="sesame"} 0'));
    leadership.changed(true);
    leadership.slowPath();
    const kind = {
      group: 'apps',
      version: 'v1',
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      plural: 'deployments',
      scope: 'Namespaced' as const,
    };
    const worlds = new Map([['east', new Map([['Deployment.apps', 1_500]])]]);
    metrics.caches(() => worlds);
    metrics.informer('east', kind).watchRestarted?.('ended');
    metrics.engine(() => ({ nodes: 7, edges: 9, cells: 3, predicateEvaluations: 11 }));
    metrics.wave({ changes: [], runs: 4, cutoffs: 3 });
    metrics.writes('sesame', 'proxy').wrote('apply', 'Deployment.apps');
    const expected = [
      'leader_election_master_status{name="sesame"} 1',
      'leader_election_slowpath_total{name="sesame"} 1',
      'capstan_informer_staleness_seconds{world="east",kind="Deployment.apps"} 1.5',
      'capstan_informer_watch_restarts_total{world="east",kind="Deployment.apps",cause="ended"} 1',
      'capstan_engine_nodes 7',
      'capstan_predicate_evaluations_total 11',
      'capstan_waves_total 1',
      'capstan_wave_cutoffs_total 3',
      'capstan_writes_total{operator="sesame",reconciler="proxy",verb="apply",kind="Deployment.apps"} 1',
      'capstan_writes_avoided_total{operator="sesame",reconciler="proxy"} 0',
    ];
    assert.deepEqual(
      expected.filter((line) => !lines().includes(line)),
      [],
    );
    worlds.set('later', new Map([['Secret', 2_000]]));
    assert.ok(lines().includes('capstan_informer_staleness_seconds{world="later",kind="Secret"} 2'));
    worlds.clear();
    assert.equal(lines().filter((line) => line.startsWith('capstan_informer_staleness')).length, 0);
  });
});
