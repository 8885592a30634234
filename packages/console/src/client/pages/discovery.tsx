import type { BackendAnswer, BackendRoute, DiscoveryAnswer } from '../../api-types.ts';
import { age, count, expiry } from '../logic/relative-time.ts';
import { describe, linkToObject, pathOfPlace } from '../logic/routes.ts';
import { Glyph, stateWord } from '../parts/glyph.tsx';
import { CopyButton, Nothing, PageHead, Panel } from '../parts/panel.tsx';
import { WithoutData } from '../parts/report-state.tsx';
import { route } from '../state/location.ts';
import { useReport } from '../state/report.ts';
import { now } from '../state/world.ts';
import { BackendCredentials as Credentials, LastWeights as Why } from './backend-panels.tsx';

type Backend = DiscoveryAnswer['backends'][number];
const MAINTENANCE = 'Maintenance';
const KIND = 'DiscoveryBackend.gimbal.heptio.com';

export function Discovery() {
  const report = useReport<DiscoveryAnswer>('/api/discovery');
  const { data } = report;
  const [name] = route.value.parts;
  const chosen = name ?? data?.backends.find(({ wanted }) => wanted === MAINTENANCE)?.name ?? data?.backends[0]?.name;
  const detail = useReport<BackendAnswer>(
    chosen === undefined ? undefined : `/api/discovery/${encodeURIComponent(chosen)}`,
  );
  const services = data?.backends.reduce((sum, one) => sum + one.services, 0) ?? 0;
  const endpoints = data?.backends.reduce((sum, one) => sum + one.endpoints, 0) ?? 0;
  const draining = data?.backends.filter(({ wanted }) => wanted === MAINTENANCE).length ?? 0;
  return (
    <>
      <PageHead
        title="Discovery"
        sub={
          data &&
          `${count(data.backends.length, 'backend')}, ${count(services, 'Service')}, ${count(endpoints, 'endpoint')}${draining > 0 ? ` · ${count(draining, 'backend')} ${draining === 1 ? 'drains' : 'drain'}` : ''}`
        }
      >
        <a
          class="button"
          href={`/plan?create=${encodeURIComponent(`-/${KIND}/${data?.backends[0]?.namespace ?? 'default'}/new`)}`}
        >
          Plan a backend
        </a>
        <CopyButton text="gimbal backends" title="Copy as gimbal backends" />
      </PageHead>
      <WithoutData report={report} />
      {data !== undefined && (
        <div class="stack">
          <Backends backends={data.backends} chosen={chosen} />
          {detail.data !== undefined ? (
            <Drain data={detail.data} backend={data.backends.find((one) => one.name === chosen)} />
          ) : (
            data.backends.length > 0 && <WithoutData report={detail} />
          )}
        </div>
      )}
    </>
  );
}

function idOf({ namespace, name }: Backend): string {
  return `${KIND} ${namespace}/${name}`;
}

const COLUMNS = ['Backend', 'State', 'Type', 'Services', 'Endpoints', 'Last sync', 'Credentials', 'Rotation'];

function Backends({ backends, chosen }: { backends: readonly Backend[]; chosen: string | undefined }) {
  return (
    <Panel title="Backends" count={backends.length}>
      {backends.length === 0 ? (
        <Nothing
          glyph="none"
          title="No DiscoveryBackend yet"
          text="A backend is a cluster whose Services are discovered into this one."
        >
          <a class="button primary" href="/plan">
            Plan a first backend
          </a>
        </Nothing>
      ) : (
        <table>
          <thead>
            <tr>
              {COLUMNS.map((title, at) => (
                <th key={title} scope="col" class={at > 1 ? 'wide' : ''}>
                  {title}
                </th>
              ))}
              <th scope="col" class="right">
                Action
              </th>
            </tr>
          </thead>
          <tbody>
            {backends.map((backend) => {
              const { name, namespace, type, wanted, state, errors, lastSync, credentialsExpire } = backend;
              const isDraining = wanted === MAINTENANCE;
              // A drain that a route blocks is explained below, with plans that unblock it.
              const others = isDraining ? errors.filter((error) => !BLOCKING.test(error)) : errors;
              const isBlocked = others.length < errors.length;
              const glyph = others.length > 0 ? 'broken' : isDraining ? 'warning' : 'ready';
              return (
                <tr key={`${namespace}/${name}`} class={name === chosen ? 'current' : ''}>
                  <td>
                    <Glyph state={glyph} />{' '}
                    <a
                      class="name"
                      href={`/discovery/${encodeURIComponent(name)}`}
                      data-row
                      {...(name === chosen && { 'aria-current': 'true' as const })}
                    >
                      {name}
                    </a>{' '}
                    <span class="faint">{namespace}</span>
                  </td>
                  <td>
                    <span class={`tag ${others.length > 0 ? 'bad' : isDraining ? 'warn' : 'ready'}`}>
                      {isBlocked ? `${state}, blocked` : state}
                    </span>
                    {(isDraining && name === chosen ? others : errors).map((error) => (
                      <div key={error} class="bad">
                        {error}
                      </div>
                    ))}
                  </td>
                  <td class="wide soft">{type}</td>
                  <td class="wide">{backend.services}</td>
                  <td class="wide">{backend.endpoints}</td>
                  <td class="wide soft nowrap">
                    {lastSync === undefined ? 'never' : `${age(lastSync, now.value)} ago`}
                  </td>
                  <td class="wide soft">
                    {credentialsExpire === undefined ? 'do not expire' : expiry(credentialsExpire, now.value)}
                  </td>
                  <td class="wide soft">{backend.rotation ?? 'at once'}</td>
                  <td class="right">
                    <a
                      class="button small"
                      href={`/plan?action=${isDraining ? 'resume' : 'drain'}&on=${encodeURIComponent(idOf(backend))}`}
                    >
                      {isDraining ? 'Resume…' : 'Drain…'}
                    </a>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

/** Types of errors that name a route of a drain. */
const BLOCKING = /^(?:NoCapacity|NoWeights|ConflictingManager|Holding|Paused|AmbiguousWeight):/;

function Drain({ data, backend }: { data: BackendAnswer; backend: Backend | undefined }) {
  const { name, wanted, drained, blocked, routes } = data;
  const isDraining = wanted === MAINTENANCE;
  const share = (part: number) => ({ width: `${routes.length === 0 ? 0 : (part / routes.length) * 100}%` });
  return (
    <>
      <Panel
        title={isDraining ? `The drain of ${name}` : `Routes that use ${name}`}
        count={routes.length}
        more={
          <span class="legend" aria-hidden="true">
            <span class="own">
              <i /> {name}
            </span>
            <span class="other">
              <i /> others
            </span>
          </span>
        }
        note="The weights before are kept on each route; resume restores exactly them."
      >
        {isDraining && (
          <div class="body progress-head">
            <div>
              <div class="big">
                {drained} of {routes.length}
              </div>
              <span class="soft">routes are drained</span>
            </div>
            <div>
              <span class="bar" aria-hidden="true">
                <i style={share(drained)} />
                <i class="warn" style={share(blocked)} />
              </span>
              <span class="soft">
                {drained} drained · {blocked} blocked · {routes.length - drained - blocked} under way
              </span>
            </div>
          </div>
        )}
        {routes.length === 0 ? (
          <Nothing
            glyph="none"
            title="No route uses this backend"
            text="It is safe to switch the cluster off: no traffic goes to it from here."
          />
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">Route</th>
                <th scope="col" class="wide">
                  Before
                </th>
                <th scope="col">Now</th>
                <th scope="col" class="wide">
                  After resume
                </th>
                <th scope="col" class="right">
                  State
                </th>
              </tr>
            </thead>
            <tbody>
              {routes.map((one) => (
                <Route key={`${one.id} ${one.rule}`} own={name} route={one} />
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      <Unblock routes={routes} backend={backend} />
      {data.why !== undefined && <Why why={data.why} />}
      {data.credentials !== undefined && (
        <Credentials credentials={data.credentials} namespace={backend?.namespace ?? ''} />
      )}
    </>
  );
}

function Route({ own, route: one }: { own: string; route: BackendRoute }) {
  const { rule, state, message, services } = one;
  const isBlocked = state === 'blocked' || state === 'held';
  return (
    <tr>
      <td>
        <Glyph state={state} isNamed />{' '}
        <a class="name" href={linkToObject(one)} data-row>
          {describe(one)}
        </a>
        <div class="faint">
          <code>{rule}</code>
        </div>
      </td>
      <td class="wide">
        <Shares own={own} services={services} at="before" />
      </td>
      <td>
        <Shares own={own} services={services} at="now" />
      </td>
      <td class="wide soft">{weights(services, 'after')}</td>
      <td class="right">
        <span
          class={`tag ${isBlocked ? 'warn' : state === 'drained' ? 'ready' : state === 'draining' ? 'progress' : ''}`}
          title={message ?? ''}
        >
          {stateWord(state).toLowerCase()}
        </span>
      </td>
    </tr>
  );
}

type Service = BackendRoute['services'][number];
type Moment = 'before' | 'now' | 'after';

/** The shares of the services. A route without weights shares evenly. */
function Shares({ own, services, at }: { own: string; services: readonly Service[]; at: Moment }) {
  const isEven = services.every((service) => service[at] === null);
  const sum = services.reduce((total, service) => total + (isEven ? 1 : (service[at] ?? 0)), 0);
  return (
    <>
      <span class="shares" aria-hidden="true">
        {services.map((service) => (
          <i
            key={service.service}
            class={service.backend === own ? 'own' : ''}
            style={{ width: `${sum === 0 ? 0 : ((isEven ? 1 : (service[at] ?? 0)) / sum) * 100}%` }}
          />
        ))}
      </span>
      <span class="share-names">
        {services.map((service) => (
          <span key={service.service}>
            {service.service} {service[at] ?? '–'}
          </span>
        ))}
      </span>
    </>
  );
}

function weights(services: readonly Service[], at: Moment): string {
  return services.every((service) => service[at] === null)
    ? 'no weights'
    : services.map((service) => service[at] ?? '–').join(' : ');
}

/** Routes that no other service can take over, each with plans that unblock it. */
function Unblock({ routes, backend }: { routes: readonly BackendRoute[]; backend: Backend | undefined }) {
  const blocked = routes.filter(({ state }) => state === 'blocked' || state === 'held');
  if (blocked.length === 0 || backend === undefined) return null;
  return (
    <Panel title="To get it done" count={blocked.length}>
      {blocked.map((one) => (
        <div key={`${one.id} ${one.rule}`} class="body">
          <p>
            <b>{describe(one)}</b> {one.message ?? one.reason}
          </p>
          <div class="actions">
            <a class="button small" href={`/plan?object=${encodeURIComponent(pathOfPlace(one))}`}>
              Plan another service of the route
            </a>
            <a
              class="button small"
              href={`/plan?object=${encodeURIComponent(pathOfPlace({ world: '', kind: KIND, key: `${backend.namespace}/${backend.name}` }))}`}
            >
              Plan maintenance.onNoCapacity
            </a>
            <a class="button small" href={`/plan?action=resume&on=${encodeURIComponent(idOf(backend))}`}>
              Plan to resume {backend.name}
            </a>
          </div>
        </div>
      ))}
    </Panel>
  );
}
