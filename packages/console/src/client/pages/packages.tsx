import { useSignal } from '@preact/signals';
import { Fragment } from 'preact';
import type { PackageAnswer, PackageField, PackagesAnswer } from '../../api-types.ts';
import { shortValue } from '../logic/plan-effects.ts';
import { count } from '../logic/relative-time.ts';
import { describe, linkToObject } from '../logic/routes.ts';
import { Glyph } from '../parts/glyph.tsx';
import { Choice, CopyButton, Nothing, PageHead, Panel } from '../parts/panel.tsx';
import { WithoutData } from '../parts/report-state.tsx';
import { route } from '../state/location.ts';
import { useReport } from '../state/report.ts';

const LAYERS = ['default', 'template', 'package'] as const;

export function Packages() {
  const report = useReport<PackagesAnswer>('/api/packages');
  const { parts } = route.value;
  const first = report.data?.packages[0];
  const [kind = first?.kind, name = first?.name] = parts;
  const detail = useReport<PackageAnswer>(
    kind === undefined || name === undefined
      ? undefined
      : `/api/packages/${encodeURIComponent(kind)}/${encodeURIComponent(name)}`,
  );
  const isChosen = parts.length > 1;
  return (
    <>
      <PageHead
        title={isChosen ? `${kind} ${name}` : 'Packages'}
        sub={
          detail.data === undefined
            ? report.data && count(report.data.packages.length, 'package')
            : `${detail.data.package} · revision ${detail.data.revision}${detail.data.config === '' ? '' : ` · runtime config ${detail.data.config}`}`
        }
      >
        {kind !== undefined && name !== undefined && (
          <a class="button" href={linkToObject({ world: '', kind: `${kind}.pkg.crossplane.io`, key: name })}>
            Open the object
          </a>
        )}
        {kind !== undefined && name !== undefined && (
          <CopyButton
            text={`crossplane beta trace ${kind.toLowerCase()}/${name} -o wide`}
            title="Copy as crossplane beta trace"
          />
        )}
      </PageHead>
      <WithoutData report={report} />
      <div class="stack">
        {report.data !== undefined && <List packages={report.data.packages} chosen={`${kind}/${name}`} />}
        {kind !== undefined && detail.data === undefined && <WithoutData report={detail} />}
        {detail.data !== undefined && <Detail data={detail.data} />}
      </div>
    </>
  );
}

function List({ packages, chosen }: { packages: PackagesAnswer['packages']; chosen: string }) {
  return (
    <Panel title="Packages" count={packages.length}>
      {packages.length === 0 ? (
        <Nothing
          glyph="none"
          title="No package yet"
          text="Providers, Functions and Configurations appear here once they are installed."
        >
          <a class="button primary" href="/plan">
            Plan a first package
          </a>
        </Nothing>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Package</th>
              <th scope="col">Image</th>
              <th scope="col" class="wide">
                Revision
              </th>
              <th scope="col" class="wide">
                Runtime config
              </th>
            </tr>
          </thead>
          <tbody>
            {packages.map((one) => (
              <tr key={`${one.kind}/${one.name}`} class={`${one.kind}/${one.name}` === chosen ? 'current' : ''}>
                <td>
                  <a
                    class="name"
                    href={`/packages/${encodeURIComponent(one.kind)}/${encodeURIComponent(one.name)}`}
                    data-row
                  >
                    {one.kind} {one.name}
                  </a>
                </td>
                <td>
                  <code>{one.package}</code>
                </td>
                <td class="wide soft">{one.revision}</td>
                <td class="wide soft">{one.config === '' ? 'none' : one.config}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Detail({ data }: { data: PackageAnswer }) {
  const { config, fields, users, warnings, name, steps, certificates } = data;
  const view = useSignal<'yours' | 'all'>('yours');
  const contested = fields.filter(({ layers, winner }) => Object.keys(layers).length > 1 || winner === 'template');
  const shown = view.value === 'all' || contested.length === 0 ? fields : contested;
  return (
    <>
      <Panel
        title="Who decides the runtime"
        count={shown.length}
        more={
          <Choice
            label="Fields"
            options={[
              ['yours', 'Yours and contested'],
              ['all', `All ${fields.length} fields`],
            ]}
            value={view.value}
            onChange={(value) => (view.value = value)}
          />
        }
        note={warnings.length > 0 ? warnings.join(' ') : 'The marked layer wins. A struck value has no effect.'}
      >
        {fields.length === 0 ? (
          <Nothing
            glyph="none"
            title="No runtime"
            text="This package runs nothing in the cluster, so that no layer decides."
          />
        ) : (
          <div class="scroll" tabIndex={0} role="region" aria-label="Fields and layers">
            <table class="layers">
              <thead>
                <tr>
                  <th scope="col">Field</th>
                  <th scope="col">Default</th>
                  <th scope="col">{config === '' ? 'Template' : `Config ${config}`}</th>
                  <th scope="col">Package, always</th>
                  <th scope="col">Result</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((field) => (
                  <Field key={`${field.object} ${field.path}`} field={field} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
      <Panel title="From the package to its pods">
        <ol class="steps body">
          {steps.map((step) => (
            <li key={`${step.kind} ${step.key}`}>
              <Glyph state={step.state} isNamed />{' '}
              <a class="name" href={linkToObject(step)} data-row>
                {describe(step)}
              </a>
              <div class="soft">{step.detail}</div>
            </li>
          ))}
        </ol>
      </Panel>
      <Panel title={`Also use ${config === '' ? 'this runtime config' : config}`} count={users.length}>
        <p class="body">
          {users.length === 0
            ? `A change of the runtime config concerns ${name} only.`
            : `A change of the runtime config concerns ${users.join(', ')} too.`}
        </p>
      </Panel>
      {certificates.length > 0 && (
        <Panel title="Certificates" count={certificates.length}>
          <dl class="body pairs">
            {certificates.map(({ usage, secret }) => (
              <Fragment key={usage}>
                <dt>{usage}</dt>
                <dd>
                  <a
                    class="name"
                    href={linkToObject({ world: '', kind: 'Secret', key: `${namespaceOf(steps)}/${secret}` })}
                  >
                    {secret}
                  </a>
                </dd>
              </Fragment>
            ))}
          </dl>
        </Panel>
      )}
    </>
  );
}

/** The namespace of the runtime. */
function namespaceOf(steps: PackageAnswer['steps']): string {
  return steps.findLast(({ key }) => key.includes('/'))?.key.split('/')[0] ?? '';
}

function Field({ field: { object, path, layers, winner, value } }: { field: PackageField }) {
  return (
    <tr>
      <td>
        <span class="faint">{object} </span>
        {path}
      </td>
      {LAYERS.map((layer) => {
        const own = shortValue(layers[layer], 60);
        if (own === undefined) return <td key={layer} />;
        return layer === winner ? (
          <td key={layer} class="winner">
            {own}
            <span class="hidden-text"> wins</span>
          </td>
        ) : (
          <td key={layer}>
            <s>{own}</s>
            <span class="hidden-text"> has no effect</span>
          </td>
        );
      })}
      <td>{shortValue(value, 60)}</td>
    </tr>
  );
}
