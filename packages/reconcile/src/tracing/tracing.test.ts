import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { silentLogger, systemClock } from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createRedactor } from '../logging/index.ts';
import { formatTraceparent, parseTraceparent } from './trace-context.ts';
import { createTracing, type TracingOptions } from './tracing.ts';

interface Payload {
  resourceSpans: {
    resource: { attributes: unknown[] };
    scopeSpans: { spans: Record<string, unknown>[] }[];
  }[];
}

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

/** Tracing under a virtual clock, towards a collector with given answers. */
function setUp(environment: TracingOptions['environment'] = ENDPOINT, answer: () => Response | Promise<Response> = ok) {
  const clock = createVirtualClock();
  const requests: { url: string; headers: Headers; payload: Payload }[] = [];
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
  const redactor = createRedactor();
  redactor.redact('hunter22');
  const tracing = createTracing({
    environment,
    serviceName: 'sesame',
    clock,
    random: createRandom(1),
    logger,
    clean: redactor.clean,
    fetch: async (url, init) => {
      assert.ok(typeof url === 'string' && typeof init?.body === 'string');
      const payload = JSON.parse(init.body) as Payload;
      requests.push({ url, headers: new Headers(init.headers), payload });
      return answer();
    },
  });
  const stop = new AbortController();
  const ended = tracing.run(stop.signal);
  const spans = () => requests.flatMap(({ payload }) => payload.resourceSpans[0]?.scopeSpans[0]?.spans ?? []);
  return {
    clock,
    requests,
    warnings,
    tracer: tracing.tracer,
    tracing,
    spans,
    async stop() {
      stop.abort();
      await clock.runUntilIdle(10_000);
      await ended;
      assert.equal(clock.pendingTimers, 0);
    },
  };
}

function ok(): Response {
  return Response.json({});
}

describe('tracing', () => {
  it('does nothing unless an exporter is configured', async () => {
    for (const environment of [
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
      { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
      { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
    ]) {
      const { tracer, tracing, requests, stop } = setUp(environment);
      const span = tracer.startSpan('x');
      span.recordError(new Error('x'));
      span.end();
      await stop();
      assert.equal(tracing.isEnabled, false);
      assert.deepEqual(requests, []);
    }
  });

  it('exports spans with their attributes, parents and errors', async () => {
    const { clock, tracer, requests, spans, stop } = setUp();
    const parent = tracer.startSpan('wave', { 'capstan.wave': 7, ratio: 0.5, ok: true, kinds: ['a', 'b'] });
    await clock.advance(10);
    const child = tracer.startSpan('reconcile', {}, parent.context);
    child.setAttributes({ object: 'shop/hunter22' });
    child.recordError(new TypeError('no hunter22'));
    child.end();
    child.end();
    await clock.advance(5);
    parent.end();
    await clock.advance(5_000);
    assert.equal(requests[0]?.url, 'http://collector:4318/v1/traces');
    assert.deepEqual(requests[0]?.payload.resourceSpans[0]?.resource.attributes, [
      { key: 'service.name', value: { stringValue: 'sesame' } },
    ]);
    const [reconcile, wave] = spans();
    assert.equal(spans().length, 2);
    assert.deepEqual(wave, {
      traceId: parent.context.traceId,
      spanId: parent.context.spanId,
      name: 'wave',
      kind: 1,
      startTimeUnixNano: '1767225600000000000',
      endTimeUnixNano: '1767225600015000000',
      attributes: [
        { key: 'capstan.wave', value: { intValue: '7' } },
        { key: 'ratio', value: { doubleValue: 0.5 } },
        { key: 'ok', value: { boolValue: true } },
        { key: 'kinds', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } } },
      ],
      events: [],
      status: {},
    });
    assert.equal(reconcile?.traceId, parent.context.traceId);
    assert.equal(reconcile?.parentSpanId, parent.context.spanId);
    assert.deepEqual(reconcile?.status, { code: 2, message: 'no [redacted]' });
    assert.doesNotMatch(JSON.stringify(requests), /hunter22/);
    assert.match(JSON.stringify(reconcile?.events), /exception\.type.*TypeError/);
    await stop();
  });

  it('sends a full batch at once, a part of one after five seconds, and what is left when it stops', async () => {
    const { clock, tracer, requests, spans, stop } = setUp({
      ...ENDPOINT,
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    });
    for (let index = 0; index < 25; index++) tracer.startSpan('x').end();
    await clock.settle();
    assert.deepEqual([requests.length, spans().length], [3, 25]);
    tracer.startSpan('y').end();
    await clock.advance(4_999);
    assert.equal(spans().length, 25);
    await clock.advance(1);
    assert.equal(spans().length, 26);
    tracer.startSpan('z').end();
    await stop();
    assert.equal(spans().length, 27);
  });

  it('keeps a bounded number of spans while the collector is away, and says what it dropped', async () => {
    let isAway = true;
    const { clock, tracer, spans, warnings, stop } = setUp(
      { ...ENDPOINT, OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10', OTEL_BSP_MAX_QUEUE_SIZE: '20' },
      () => (isAway ? new Response('', { status: 503 }) : ok()),
    );
    for (let index = 0; index < 100; index++) tracer.startSpan(`s${index}`).end();
    await clock.advance(1_000);
    const tried = spans().length;
    isAway = false;
    await clock.advance(30_000);
    assert.equal(spans().length - tried, 20);
    assert.ok(warnings.some((warning) => warning.includes('dropped')));
    await stop();
  });

  it('tries again after the time that the collector names, and gives a batch up after five tries', async () => {
    let status = 429;
    const { clock, tracer, requests, warnings, stop } = setUp(
      ENDPOINT,
      () => new Response('', { status, headers: { 'retry-after': '7' } }),
    );
    tracer.startSpan('x').end();
    await clock.advance(5_000);
    assert.equal(requests.length, 1);
    await clock.advance(6_999);
    assert.equal(requests.length, 1);
    await clock.advance(701);
    assert.equal(requests.length, 2);
    await clock.advance(60_000);
    assert.equal(requests.length, 5);
    status = 400;
    tracer.startSpan('y').end();
    await clock.advance(60_000);
    assert.equal(requests.length, 6, 'what is refused for good is not sent again');
    assert.equal(warnings.length, 2);
    await stop();
  });

  it('ends in time when the collector never answers', async () => {
    const { clock, tracer, stop } = setUp(ENDPOINT, () => new Promise<never>(() => {}));
    tracer.startSpan('x').end();
    await clock.advance(6_000);
    const before = clock.now();
    await stop();
    assert.ok(clock.now() - before <= 5_000);
  });

  const environments: [
    what: string,
    environment: Record<string, string>,
    check: (setup: ReturnType<typeof setUp>) => void,
  ][] = [
    [
      'an address for traces as it is',
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/custom?x=1', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other' },
      ({ requests }) => assert.equal(requests[0]?.url, 'https://c/custom?x=1'),
    ],
    [
      'a base address with a path',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c/otlp/' },
      ({ requests }) => assert.equal(requests[0]?.url, 'http://c/otlp/v1/traces'),
    ],
    [
      'headers, decoded, those for traces first',
      {
        OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b%3D%3D, x-team = one,broken',
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=two',
      },
      ({ requests }) => {
        assert.equal(requests[0]?.headers.get('api-key'), 'a b==');
        assert.equal(requests[0]?.headers.get('x-team'), 'two');
      },
    ],
    [
      'the name of the service and attributes of the resource',
      { OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,k8s.pod.name=p' },
      ({ requests }) =>
        assert.deepEqual(requests[0]?.payload.resourceSpans[0]?.resource.attributes, [
          { key: 'service.name', value: { stringValue: 'mine' } },
          { key: 'k8s.pod.name', value: { stringValue: 'p' } },
        ]),
    ],
    [
      'a sampler that keeps nothing',
      { OTEL_TRACES_SAMPLER: 'always_off' },
      ({ spans }) => assert.equal(spans().length, 0),
    ],
    [
      'a sampler that keeps a share',
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      ({ spans }) => assert.ok(spans().length > 10 && spans().length < 45, `${spans().length} of 100`),
    ],
    [
      'a sampler that is not known, with a warning',
      { OTEL_TRACES_SAMPLER: 'nonsense' },
      ({ spans, warnings }) => {
        assert.equal(spans().length, 100);
        assert.equal(warnings.length, 1);
      },
    ],
  ];
  for (const [what, environment, check] of environments) {
    it(`honours ${what}`, async () => {
      const setup = setUp({ ...ENDPOINT, ...environment });
      for (let index = 0; index < 100; index++) setup.tracer.startSpan('x').end();
      await setup.stop();
      check(setup);
    });
  }

  it('lets the parent decide whether a span is kept', async () => {
    const { tracer, spans, stop } = setUp({ ...ENDPOINT, OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
    tracer.startSpan('root').end();
    tracer.startSpan('child', {}, { ...parent, isSampled: true }).end();
    tracer.startSpan('child', {}, { ...parent, isSampled: false }).end();
    await stop();
    assert.deepEqual(
      spans().map((span) => [span.name, span.traceId]),
      [['child', 'a'.repeat(32)]],
    );
  });

  it('refuses an address that is none, without printing it', () => {
    assert.throws(
      () => setUp({ OTEL_EXPORTER_OTLP_ENDPOINT: 'user:hunter22@collector' }),
      (error: Error) => {
        assert.match(error.message, /OTEL_EXPORTER_OTLP_ENDPOINT/);
        assert.doesNotMatch(error.message, /hunter22/);
        return true;
      },
    );
  });

  it('reaches a real collector over HTTP, compressed', async () => {
    const received: { url: string | undefined; team: unknown; payload: Payload }[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const payload = JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()) as Payload;
        received.push({ url: request.url, team: request.headers['x-team'], payload });
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { tracer, run } = createTracing({
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=capstan',
      },
      serviceName: 'sesame',
      clock: systemClock,
      random: createRandom(2),
      logger: silentLogger,
    });
    const stop = new AbortController();
    const ended = run(stop.signal);
    tracer.startSpan('over the wire').end();
    stop.abort();
    await ended;
    server.closeAllConnections();
    server.close();
    assert.deepEqual(
      received.map(({ url, team, payload }) => [url, team, payload.resourceSpans[0]?.scopeSpans[0]?.spans[0]?.name]),
      [['/v1/traces', 'capstan', 'over the wire']],
    );
  });
});

describe('a trace context', () => {
  it('goes from process to process as a traceparent', () => {
    const context = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };
    const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    assert.equal(formatTraceparent(context), header);
    assert.deepEqual(parseTraceparent(header), context);
    assert.equal(parseTraceparent(header.replace(/1$/, '2'))?.isSampled, false);
    assert.deepEqual(parseTraceparent(`cc${header.slice(2)}-later`), context);
  });

  for (const header of [
    '',
    'nonsense',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
  ]) {
    it(`is not taken from "${header}"`, () => assert.equal(parseTraceparent(header), undefined));
  }

  it('never has an id of zeros', () => {
    const values = [0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0.25, 0];
    const tracing = createTracing({
      environment: ENDPOINT,
      serviceName: 'x',
      clock: createVirtualClock(),
      random: () => values.shift() ?? 0.75,
      logger: silentLogger,
    });
    const { traceId, spanId } = tracing.tracer.startSpan('x').context;
    assert.deepEqual([traceId, spanId], ['80000000000000000000000000000000', '4000000000000000']);
  });
});
