import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExplainAnswer, ExplainRequest } from '../../api-types.ts';
import { curlOf, explainCommandOf, parseRequest, splitTest } from '../logic/tested-request.ts';
import { CopyButton, Panel } from '../parts/panel.tsx';
import { Problem, post } from '../state/api.ts';
import { replace, route, withQuery } from '../state/location.ts';

const REST_MS = 200;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const SHOWN_SKIPPED = 8;

interface RequestTesterProps {
  readonly instance: string;
  /** The host that the field begins with. */
  readonly start: string | undefined;
  readonly tested: Signal<ExplainAnswer | undefined>;
}

/** Follows a request through the configuration of Envoy. Nothing is sent. */
export function RequestTester({ instance, start, tested }: RequestTesterProps) {
  const { test = start === undefined ? '' : `GET http://${start}/` } = route.value.query;
  const [method, url] = splitTest(test);
  const headers = useSignal('');
  const problem = useSignal('');
  const request = parseRequest(method, url, headers.value);
  const reason = typeof request === 'string' ? request : '';
  useEffect(() => {
    if (typeof request === 'string') {
      tested.value = undefined;
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const body: ExplainRequest = { instance, ...request };
      post<ExplainAnswer>('/api/explain', body, stop.signal).then(
        (answer) => {
          tested.value = answer;
          problem.value = '';
        },
        (error: unknown) => {
          if (stop.signal.aborted) return;
          tested.value = undefined;
          problem.value = error instanceof Problem ? error.message : String(error);
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [instance, method, url, headers.value]);
  const set = (nextMethod: string, nextUrl: string) => replace(withQuery({ test: `${nextMethod} ${nextUrl}` }));
  return (
    <Panel title="Test a request" more="nothing is sent">
      <div class="body">
        <div class="tester">
          <label class="label">
            Method
            <select value={method} onChange={(event) => set(event.currentTarget.value, url)}>
              {METHODS.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <label class="label">
            URL
            <input
              type="text"
              spellcheck={false}
              autocomplete="off"
              value={url}
              onInput={(event) => set(method, event.currentTarget.value)}
            />
          </label>
          <label class="label full">
            Headers, one in a line
            <textarea
              rows={2}
              spellcheck={false}
              value={headers.value}
              placeholder="x-user: anna"
              onInput={(event) => (headers.value = event.currentTarget.value)}
            />
          </label>
        </div>
        <div aria-live="polite">
          {(reason !== '' || problem.value !== '') && (
            <p class={problem.value === '' ? 'soft' : 'bad'}>{reason === '' ? problem.value : reason}</p>
          )}
          {reason === '' && tested.value !== undefined && <Steps answer={tested.value} />}
        </div>
        {typeof request !== 'string' && (
          <div class="actions">
            <CopyButton text={explainCommandOf(request)} title="Copy as sesame explain" />
            <CopyButton text={curlOf(method, url, request)} title="Copy curl" />
          </div>
        )}
      </div>
    </Panel>
  );
}

function Steps({ answer: { host, servedAs, listeners, problems } }: { answer: ExplainAnswer }) {
  const taken = listeners.flatMap(({ routes }) => routes.slice(0, 1))[0];
  return (
    <>
      <p>
        <span class={`tag ${taken === undefined ? 'bad' : 'ready'}`}>
          {taken === undefined ? 'not served' : 'served'}
        </span>{' '}
        <span class="soft">
          {taken === undefined
            ? `No route takes this request to ${host}.`
            : (taken.answer ?? `by ${taken.services.map(({ service }) => service).join(', ')}`)}
        </span>
      </p>
      {problems.map((problem) => (
        <p key={problem} class="bad">
          {problem}
        </p>
      ))}
      {listeners.map((listener) => (
        <Listener key={listener.name} listener={listener} servedAs={servedAs} />
      ))}
    </>
  );
}

function Listener({
  listener: { name, address, filters, routes, skipped },
  servedAs,
}: {
  listener: ExplainAnswer['listeners'][number];
  servedAs: string | undefined;
}) {
  const [taken, ...later] = routes;
  return (
    <ol class="steps">
      <li>
        <b>Listener {name}</b> <span class="soft">{address}</span>
      </li>
      {filters.length > 0 && (
        <li>
          <b>{filters.length} filters</b> <span class="soft">{filters.join(', ')}</span>
        </li>
      )}
      {servedAs !== undefined && (
        <li>
          <b>Host {servedAs}</b>
        </li>
      )}
      {skipped.slice(0, SHOWN_SKIPPED).map(({ match, from, field, reason }) => (
        <li key={`${match} ${from} ${field}`} class="off">
          <span class="soft">
            {match} is not taken: {reason}
          </span>{' '}
          <span class="faint">
            {from} <code>{field}</code>
          </span>
        </li>
      ))}
      {taken === undefined ? (
        <li class="end">
          <b>No route is taken</b>
        </li>
      ) : (
        <li>
          <b>Route {taken.match}</b>{' '}
          <span class="soft">
            {taken.from} <code>{taken.field}</code> {taken.isUnconditional ? '' : 'if its conditions hold'}
          </span>
        </li>
      )}
      {taken?.services.map(({ cluster, service, share, endpoints }) => (
        <li key={cluster} class={endpoints.length === 0 ? 'end' : ''}>
          <b>Service {service}</b> <span class="soft">{share} %</span>
          <div class={endpoints.length === 0 ? 'bad' : 'soft'}>
            {endpoints.length === 0 ? 'has no ready endpoint' : endpoints.slice(0, 4).join(', ')}
          </div>
        </li>
      ))}
      {later.map(({ match }) => (
        <li key={match} class="off">
          <span class="soft">{match} would match too; it comes later</span>
        </li>
      ))}
    </ol>
  );
}
