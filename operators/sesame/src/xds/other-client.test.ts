// The server with a second implementation of gRPC and protobuf: @grpc/grpc-js and protobufjs, on the descriptors of Envoy's API.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { readDescriptors } from '../../test/envoy/descriptors.ts';
import { typeUrl } from '../envoy/index.ts';
import { cluster, createXdsStage, endpoints, put, remove } from './xds.test-support.ts';

interface Call {
  write(request: object): void;
  on(event: 'data', handler: (response: Response) => void): void;
  on(event: 'error', handler: (error: Error) => void): void;
  cancel(): void;
}

interface Response {
  readonly nonce: string;
  readonly resources: readonly { readonly name?: string; readonly type_url?: string }[];
  readonly removed_resources?: readonly string[];
  readonly version_info?: string;
}

suite('grpc-js as a client', () => {
  test('the aggregated stream, state of the world', async (context) => {
    const { store, server } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const { call, next } = open(server.port, 'StreamAggregatedResources');
    context.after(() => call.cancel());
    call.write({ node: { id: 'grpc' }, type_url: typeUrl('cds') });
    const first = await next();
    assert.deepEqual(
      first.resources.map(({ type_url: url }) => url),
      [typeUrl('cds'), typeUrl('cds')],
    );
    call.write({ type_url: typeUrl('cds'), response_nonce: first.nonce, version_info: first.version_info });
    put(store, cluster('c'));
    assert.equal((await next()).resources.length, 3);
  });

  test('the aggregated stream, delta', async (context) => {
    const { store, server } = await createXdsStage(context);
    put(store, endpoints('a', 1), endpoints('b', 2));
    const { call, next } = open(server.port, 'DeltaAggregatedResources');
    context.after(() => call.cancel());
    call.write({ node: { id: 'grpc' }, type_url: typeUrl('eds'), resource_names_subscribe: ['a', 'b'] });
    const first = await next();
    assert.deepEqual(new Set(first.resources.map(({ name }) => name)), new Set(['a', 'b']));
    call.write({ type_url: typeUrl('eds'), response_nonce: first.nonce });
    remove(store, 'eds', 'a');
    assert.deepEqual((await next()).removed_resources, ['a']);
  });
});

function open(port: number, method: string): { call: Call; next(): Promise<Response> } {
  const api = readDescriptors().lookupService('envoy.service.discovery.v3.AggregatedDiscoveryService');
  const methods = api.methodsArray.map((each) => {
    each.resolve();
    const { resolvedRequestType: request, resolvedResponseType: response } = each;
    assert.ok(request && response);
    const definition = {
      path: `/${api.fullName.slice(1)}/${each.name}`,
      requestStream: true,
      responseStream: true,
      requestSerialize: (value: object) => Buffer.from(request.encode(request.fromObject(value)).finish()),
      requestDeserialize: (bytes: Buffer) => request.decode(bytes),
      responseSerialize: (value: object) => Buffer.from(response.encode(response.fromObject(value)).finish()),
      responseDeserialize: (bytes: Buffer) => response.toObject(response.decode(bytes), { defaults: true }),
    };
    return [each.name, definition] as const;
  });
  const service = makeGenericClientConstructor(Object.fromEntries(methods), api.name);
  const client = new service(`127.0.0.1:${port}`, credentials.createInsecure()) as unknown as Record<
    string,
    () => Call
  >;
  const call = client[method]?.call(client) as Call;
  const ready: Response[] = [];
  const waiting: ((response: Response) => void)[] = [];
  call.on('data', (response) => {
    const waiter = waiting.shift();
    if (waiter) waiter(response);
    else ready.push(response);
  });
  call.on('error', () => undefined);
  const next = () =>
    new Promise<Response>((resolve) => {
      const response = ready.shift();
      if (response) resolve(response);
      else waiting.push(resolve);
    });
  return { call, next };
}
