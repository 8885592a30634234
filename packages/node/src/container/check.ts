// One look at whether a container is well: over HTTP, by a connection, or by a command.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Container, HTTPGetAction, Probe } from '@capstan/kube';

export interface CheckTarget {
  address: string;
  container: Container;
  /** Runs a command as the container would, and returns its exit code and its output. */
  exec(command: readonly string[], signal: AbortSignal): Promise<{ code: number; output: string }>;
}

/** Undefined if the check passed, else the problem. */
export type CheckResult = string | undefined;

type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>;

export async function check(handler: Handler, target: CheckTarget, signal: AbortSignal): Promise<CheckResult> {
  const { exec, httpGet, tcpSocket, grpc } = handler;
  try {
    if (exec !== undefined) {
      const { code, output } = await target.exec(exec.command ?? [], signal);
      return code === 0 ? undefined : `command exited with ${code}: ${output.trim().slice(0, 500)}`;
    }
    if (httpGet !== undefined) return await checkHttp(httpGet, target, signal);
    // A gRPC server that takes connections is taken for well: the health service is not asked.
    const port = tcpSocket?.port ?? grpc?.port;
    if (port !== undefined) return await checkTcp(tcpSocket?.host || target.address, portNumber(port, target), signal);
    return undefined;
  } catch (error) {
    if (signal.aborted) return 'it took longer than its time limit';
    return error instanceof Error ? error.message : String(error);
  }
}

export function portNumber(port: number | string, { container }: CheckTarget): number {
  if (typeof port === 'number') return port;
  return container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port);
}

function checkHttp(action: HTTPGetAction, target: CheckTarget, signal: AbortSignal): Promise<CheckResult> {
  const { host, path = '/', port, scheme = 'HTTP', httpHeaders = [] } = action;
  const headers: Record<string, string> = { 'user-agent': 'kube-probe/capstan', accept: '*/*' };
  for (const { name, value } of httpHeaders) headers[name.toLowerCase()] = value;
  const options = {
    host: host || target.address,
    port: portNumber(port, target),
    path: path.startsWith('/') ? path : `/${path}`,
    headers,
    signal,
    agent: false,
    // A probe asks whether the program answers, not who signed its certificate.
    rejectUnauthorized: false,
  };
  return new Promise((resolve, reject) => {
    const request = (scheme === 'HTTPS' ? httpsRequest : httpRequest)(options, (response) => {
      const { statusCode = 0 } = response;
      response.resume();
      response.once('error', () => {});
      resolve(statusCode >= 200 && statusCode < 400 ? undefined : `HTTP probe failed with statuscode: ${statusCode}`);
      request.destroy();
    });
    request.once('error', reject);
    request.end();
  });
}

function checkTcp(host: string, port: number, signal: AbortSignal): Promise<CheckResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const onAbort = () => socket.destroy(new Error('it took longer than its time limit'));
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => {
      signal.removeEventListener('abort', onAbort);
      reject(error);
    });
  });
}
