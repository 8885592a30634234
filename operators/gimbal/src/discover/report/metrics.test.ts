import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EndpointSlice, Service } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createCensus } from './census.ts';
import { createMetrics } from './metrics.ts';

// Name, type and labels of each, as Gimbal's own discoverers have them.
const UPSTREAM = [
  ['gimbal_service_event_timestamp', 'gauge', 'namespace backendname name backendtype'],
  ['gimbal_endpoints_event_timestamp', 'gauge', 'namespace backendname name backendtype'],
  ['gimbal_service_error_total', 'counter', 'namespace backendname name errortype backendtype'],
  ['gimbal_endpoints_error_total', 'counter', 'namespace backendname name errortype backendtype'],
  ['gimbal_queuesize', 'gauge', 'backendname backendtype'],
  ['gimbal_discoverer_api_latency_milliseconds', 'histogram', 'backendname backendtype path le'],
  ['gimbal_discoverer_cycle_duration_seconds', 'histogram', 'backendname backendtype le'],
  ['gimbal_discoverer_error_total', 'counter', 'backendname errortype backendtype'],
  ['gimbal_discoverer_upstream_services_total', 'gauge', 'backendname namespace backendtype'],
  ['gimbal_discoverer_replicated_services_total', 'gauge', 'backendname namespace backendtype'],
  ['gimbal_discoverer_invalid_services_total', 'gauge', 'backendname namespace backendtype'],
  ['gimbal_discoverer_upstream_endpoints_total', 'gauge', 'backendname namespace servicename backendtype'],
  ['gimbal_discoverer_replicated_endpoints_total', 'gauge', 'backendname namespace servicename backendtype'],
  ['gimbal_discoverer_invalid_endpoints_total', 'gauge', 'backendname namespace servicename backendtype'],
  ['gimbal_discoverer_info', 'gauge', 'backendname version backendtype'],
] as const;

it('the fifteen metrics of Gimbal are there under their names, types and labels', () => {
  const metrics = createMetrics({ backend: 'east', type: 'openstack', version: '1', clock: createVirtualClock() });
  const census = createCensus();
  census.take('team/east-web', { state: 'invalid', keep: true, upstreamEndpoints: 1, problems: [] }, []);
  metrics.attach({
    census,
    queued: () => 1,
    isLive: () => true,
    isReady: () => true,
    lastSync: () => 0,
    held: () => 0,
    problems: () => [],
    holdsLease: () => true,
  });
  metrics.wrote(Service, 'add', 'team/east-web');
  metrics.wrote(EndpointSlice, 'update', 'team/east-web');
  metrics.failed(Service, 'add', 'team/east-web');
  metrics.failed(EndpointSlice, 'delete', 'team/east-web');
  metrics.called('/v3/projects', 12, false);
  metrics.cycleFailed('ListProjects');
  metrics.cycled(3);
  const { body } = metrics.registry.expose('text/plain');
  for (const [name, type, labels] of UPSTREAM) {
    assert.match(body, new RegExp(`^# TYPE ${name} ${type}$`, 'm'));
    const line =
      body.split('\n').find((each) => each.startsWith(`${name}{`) || each.startsWith(`${name}_bucket{`)) ?? '';
    const given = [...line.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    assert.deepEqual(given.toSorted(), labels.split(' ').toSorted(), name);
  }
});
