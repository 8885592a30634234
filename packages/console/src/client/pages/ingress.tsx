import { useSignal } from '@preact/signals';
import type { ExplainAnswer, IngressAnswer } from '../../api-types.ts';
import { count, groupDigits } from '../logic/relative-time.ts';
import { nameOf } from '../logic/routes.ts';
import { Choice, CopyButton, Nothing, PageHead, Panel } from '../parts/panel.tsx';
import { WithoutData } from '../parts/report-state.tsx';
import { replace, route, withQuery } from '../state/location.ts';
import { chosenReport, encodePath, useReport } from '../state/report.ts';
import { reports, session } from '../state/world.ts';
import { Envoys } from './ingress-envoys.tsx';
import { HostTable, IngressMap } from './ingress-map.tsx';
import { RequestTester } from './request-tester.tsx';

/** From this number of hosts on, the table is the first view. */
const MANY_HOSTS = 60;

export function Ingress() {
  const { host = '', view } = route.value.query;
  const name = chosenReport('ingress');
  const report = useReport<IngressAnswer>(
    name === undefined
      ? undefined
      : `/api/ingress/${encodePath(name)}${host === '' ? '' : `?host=${encodeURIComponent(host)}`}`,
  );
  const tested = useSignal<ExplainAnswer | undefined>(undefined);
  const others = reports.value.filter((one) => one.name.startsWith('ingress/'));
  const { data } = report;
  if (name === undefined)
    return (
      <>
        <PageHead title="Ingress" />
        {session.value !== undefined && (
          <Panel title="Sesame">
            <Nothing
              glyph="none"
              title="No Sesame serves here yet"
              text="The map appears once a SesameDeployment or a sesame serve runs in this process."
            >
              <a class="button primary" href="/plan">
                Plan a first SesameDeployment
              </a>
            </Nothing>
          </Panel>
        )}
      </>
    );
  const isMany = (data?.hostCount ?? 0) > MANY_HOSTS && host === '';
  const shown = view === 'table' || view === 'xds' || view === 'map' ? view : isMany ? 'table' : 'map';
  return (
    <>
      <PageHead title={`Ingress ${nameOf(name)}`} sub={data && summary(data, name)}>
        {others.length > 1 && (
          <nav class="actions" aria-label="Sesames">
            {others.map((one) => (
              <a
                key={one.name}
                class="button small"
                href={`/${one.name}`}
                {...(one.name === `ingress/${name}` && { 'aria-current': 'page' as const })}
              >
                {nameOf(one.name)}
              </a>
            ))}
          </nav>
        )}
        <Choice
          label="View"
          options={[
            ['map', 'Map'],
            ['table', 'Table'],
            ['xds', 'xDS'],
          ]}
          value={shown}
          onChange={(value) => replace(withQuery({ view: value }))}
        />
        <a class="button" href="/plan">
          Plan a change
        </a>
      </PageHead>
      <WithoutData report={report} />
      {data !== undefined && (
        <div class="stack">
          {host !== '' && (
            <div class="actions">
              <span class="tag lit">host {host}</span>
              <a class="button small" href={withQuery({ host: '' })}>
                Show all hosts
              </a>
              <CopyButton text={`sesame explain ${host}`} title="Copy as sesame explain" />
            </div>
          )}
          {shown === 'map' && <IngressMap data={data} tested={tested.value} />}
          {shown === 'table' && <HostTable data={data} />}
          <Envoys data={data} isWhole={shown === 'xds'} />
          <RequestTester instance={name} start={data.hosts.find(({ isServed }) => isServed)?.host} tested={tested} />
        </div>
      )}
    </>
  );
}

function summary({ hostCount, brokenCount, listeners }: IngressAnswer, name: string): string {
  const broken = brokenCount === 0 ? '' : ` · ${count(brokenCount, 'host')} with problems`;
  return `${name} · ${count(listeners.length, 'listener')}, ${groupDigits(hostCount)} ${hostCount === 1 ? 'host' : 'hosts'}${broken}`;
}
