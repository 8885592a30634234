// Services that Envoy calls itself, over gRPC: their requests and answers have a few fields, written and read by hand.
import type { TestContext } from 'node:test';
import { status as GrpcStatus, Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import { BACKENDS } from './ingress-stage.ts';

type Headers = Readonly<Record<string, string>>;
export type Decision =
  | { readonly allow: true; readonly headers?: Headers }
  | { readonly allow: false; readonly status: number; readonly body: string };

/** An authorization service; the text of a request has everything that Envoy sends about it. Returns its port. */
export function startAuthorization(
  context: TestContext,
  decide: (request: string) => Decision | Promise<Decision>,
): Promise<number> {
  return startUnary(context, '/envoy.service.auth.v3.Authorization/Check', async (request) => {
    const decision = await decide(request);
    if (decision.allow) return Buffer.concat([field(1, code(0)), field(3, headers(decision.headers ?? {}))]);
    const denied = Buffer.concat([field(1, varintField(1, decision.status)), field(3, Buffer.from(decision.body))]);
    return Buffer.concat([field(1, code(GrpcStatus.PERMISSION_DENIED)), field(2, denied)]);
  });
}

const OK = 1;
const OVER_LIMIT = 2;

/** A rate limit service; the text of a request has its domain and descriptors. Returns its port. */
export function startRateLimits(context: TestContext, isOver: (request: string) => boolean): Promise<number> {
  return startUnary(context, '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit', (request) =>
    varintField(1, isOver(request) ? OVER_LIMIT : OK),
  );
}

async function startUnary(
  context: TestContext,
  path: string,
  answer: (request: string) => Buffer | Promise<Buffer>,
): Promise<number> {
  const server = new Server();
  const same = (bytes: Buffer) => bytes;
  server.addService(
    {
      call: {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
    {
      call: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: (error: null, response: Buffer) => void) => {
        const reply = async () => done(null, await answer(request.toString('latin1')));
        void reply();
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`${BACKENDS}:0`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  context.after(() => server.forceShutdown());
  return port;
}

function headers(values: Headers): Buffer {
  return Buffer.concat(
    Object.entries(values).map(([key, value]) =>
      field(2, field(1, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]))),
    ),
  );
}

function code(value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : varintField(1, value);
}

function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(content.length), content]);
}

function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}
