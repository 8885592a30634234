import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { createRegistry } from './registry.ts';

describe('a registry', () => {
  it('shows counters, gauges and histograms in the text format', () => {
    const registry = createRegistry();
    const requests = registry.counter({ name: 'requests_total', help: 'Requests.', labels: ['code'] });
    requests.of({ code: '200' }).inc();
    requests.of({ code: '200' }).inc(2);
    requests.of({ code: '500' }).inc();
    registry.gauge({ name: 'depth', help: 'Depth.' }).of().set(-1.5);
    const time = registry.histogram({ name: 'time_seconds', help: 'Time.', buckets: [0.1, 1] });
    for (const seconds of [0.05, 0.1, 0.5, 7]) time.of().observe(seconds);
    const { contentType, body } = registry.expose();
    assert.equal(contentType, 'text/plain; version=0.0.4; charset=utf-8');
    assert.equal(
      body,
      [
        '# HELP requests_total Requests.',
        '# TYPE requests_total counter',
        'requests_total{code="200"} 3',
        'requests_total{code="500"} 1',
        '# HELP depth Depth.',
        '# TYPE depth gauge',
        'depth -1.5',
        '# HELP time_seconds Time.',
        '# TYPE time_seconds histogram',
        'time_seconds_bucket{le="0.1"} 2',
        'time_seconds_bucket{le="1"} 3',
        'time_seconds_bucket{le="+Inf"} 4',
        'time_seconds_sum 7.65',
        'time_seconds_count 4',
        '',
      ].join('\n'),
    );
  });

  it('shows the same as OpenMetrics when that is asked for', () => {
    const registry = createRegistry();
    registry.counter({ name: 'requests_total', help: 'The "requests".' }).of().inc();
    registry
      .histogram({ name: 'time_seconds', help: 'Time.', buckets: [1] })
      .of()
      .observe(1);
    const { contentType, body } = registry.expose('application/openmetrics-text;version=1.0.0');
    assert.equal(contentType, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    assert.equal(
      body,
      [
        '# HELP requests The \\"requests\\".',
        '# TYPE requests counter',
        'requests_total 1',
        '# HELP time_seconds Time.',
        '# TYPE time_seconds histogram',
        'time_seconds_bucket{le="1.0"} 1',
        'time_seconds_bucket{le="+Inf"} 1',
        'time_seconds_sum 1',
        'time_seconds_count 1',
        '# EOF',
        '',
      ].join('\n'),
    );
  });

  const accepts: [accept: string | undefined, isOpenMetrics: boolean][] = [
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['text/plain', false],
    ['application/openmetrics-text', true],
    ['application/openmetrics-text; version=0.0.1', false],
    ['text/plain;version=0.0.4;q=0.5, application/openmetrics-text;version=1.0.0;q=0.7', true],
    ['text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.2', false],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
      true,
    ],
    ['application/openmetrics-text;q=0', false],
  ];
  for (const [accept, isOpenMetrics] of accepts) {
    it(`answers "${accept}" with ${isOpenMetrics ? 'OpenMetrics' : 'plain text'}`, () => {
      assert.equal(createRegistry().expose(accept).contentType.startsWith('application/openmetrics'), isOpenMetrics);
    });
  }

  it('keeps every label value in one line, readable back', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('\\', '"', '\n', 'n', 'a', '}', ' ') }), (value) => {
        const registry = createRegistry();
        registry.gauge({ name: 'g', help: 'back\\slash\nline', labels: ['l'] }).of({ l: value });
        const lines = registry.expose().body.split('\n');
        assert.equal(lines[0], '# HELP g back\\\\slash\\nline');
        assert.equal(lines.length, 4);
        const quoted = /^g\{l="(.*)"\} 0$/.exec(lines[2] ?? '')?.[1] ?? '';
        const read = quoted.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
        assert.equal(read, value);
      }),
    );
  });

  it('asks for collected values at each scrape', () => {
    const registry = createRegistry();
    let age = 1;
    registry.gauge({ name: 'age_seconds', help: 'Age.', labels: ['of'], collect: () => [[{ of: 'x' }, age]] });
    assert.match(registry.expose().body, /^age_seconds\{of="x"\} 1$/m);
    age = Number.POSITIVE_INFINITY;
    assert.match(registry.expose().body, /^age_seconds\{of="x"\} \+Inf$/m);
  });

  it('forgets a series that is removed', () => {
    const registry = createRegistry();
    const gauge = registry.gauge({ name: 'g', help: 'G.', labels: ['a', 'b'] });
    gauge.of({ a: '1', b: '2' }).set(1);
    gauge.of({ a: '12', b: '' }).set(1);
    gauge.remove({ a: '1', b: '2' });
    assert.equal(registry.expose().body, '# HELP g G.\n# TYPE g gauge\ng{a="12",b=""} 1\n');
  });

  it('refuses names, labels and buckets that Prometheus would not take, and numbers that make no sense', () => {
    const registry = createRegistry();
    const help = '';
    assert.throws(() => registry.gauge({ name: '1st', help }), /not a name/);
    assert.throws(() => registry.gauge({ name: 'a b', help }), /not a name/);
    assert.throws(() => registry.counter({ name: 'count', help }), /_total/);
    assert.throws(() => registry.gauge({ name: 'g', help, labels: ['a-b'] }), /cannot have the label/);
    assert.throws(() => registry.gauge({ name: 'g', help, labels: ['__x'] }), /cannot have the label/);
    assert.throws(() => registry.histogram({ name: 'h', help, labels: ['le'], buckets: [] }), /cannot have the label/);
    assert.throws(() => registry.histogram({ name: 'h', help, buckets: [1, 1] }), /do not ascend/);
    const counter = registry.counter({ name: 'x_total', help });
    assert.throws(() => registry.gauge({ name: 'x_total', help }), /registered already/);
    assert.throws(() => counter.of().inc(-1), /asked to add -1/);
    assert.throws(() => counter.of().inc(Number.NaN), /asked to add NaN/);
  });
});
