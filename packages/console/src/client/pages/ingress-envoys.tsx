import type { EnvoyAnswer, IngressAnswer } from '../../api-types.ts';
import { Glyph } from '../parts/glyph.tsx';
import { Nothing, Panel } from '../parts/panel.tsx';

type Type = EnvoyAnswer['types'][number];

/** Each Envoy with the version that it was sent, has acknowledged and has rejected. */
export function Envoys({ data: { envoys, envoysUnknown = '' }, isWhole }: { data: IngressAnswer; isWhole: boolean }) {
  if (envoys === undefined)
    return (
      <Panel title="Delivered to Envoy">
        <Nothing glyph="unknown" title="The acknowledgements are not known" text={envoysUnknown} />
      </Panel>
    );
  const names = [...new Set(envoys.flatMap(({ types }) => types.map(({ type }) => type)))];
  return (
    <Panel
      title="Delivered to Envoy"
      count={envoys.length}
      more={[...new Set(envoys.map(({ protocol }) => protocol))].join(', ')}
    >
      {envoys.length === 0 ? (
        <Nothing
          glyph="none"
          title="No Envoy is connected"
          text="The configuration is computed and waits for the first Envoy."
        />
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Envoys">
          <table>
            <thead>
              <tr>
                <th scope="col">Envoy</th>
                {names.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
                <th scope="col" class="right">
                  State
                </th>
              </tr>
            </thead>
            <tbody>
              {envoys.map((envoy) => (
                <Row key={envoy.node} envoy={envoy} names={names} isWhole={isWhole} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Row({
  envoy: { node, version, types },
  names,
  isWhole,
}: {
  envoy: EnvoyAnswer;
  names: readonly string[];
  isWhole: boolean;
}) {
  const rejected = types.filter((type) => type.rejected !== undefined);
  const waiting = types.filter(({ sent, acknowledged }) => sent !== acknowledged);
  const state = rejected.length > 0 ? 'rejected' : waiting.length > 0 ? 'waiting' : 'acknowledged';
  return (
    <tr>
      <td>
        <Glyph state={state} isNamed /> <code>{node}</code> <span class="faint">{version}</span>
        {rejected.map(({ type, rejected: problem }) => (
          <div key={type} class="bad">
            {type} {problem?.version}: {problem?.message}
          </div>
        ))}
      </td>
      {names.map((name) => (
        <td key={name}>
          <TypeCell type={types.find(({ type }) => type === name)} isWhole={isWhole} />
        </td>
      ))}
      <td class="right">
        <span class={`tag ${state === 'acknowledged' ? 'ready' : state === 'waiting' ? 'progress' : 'bad'}`}>
          {state === 'acknowledged'
            ? 'all acknowledged'
            : state === 'waiting'
              ? `${waiting.length} waiting`
              : `${rejected.length} rejected`}
        </span>
      </td>
    </tr>
  );
}

function TypeCell({ type, isWhole }: { type: Type | undefined; isWhole: boolean }) {
  if (type === undefined) return <span class="faint">–</span>;
  if (!isWhole) return <>{type.resources}</>;
  return (
    <>
      {type.resources} <span class="faint">sent</span> <code>{type.sent}</code>
      <div class={type.sent === type.acknowledged ? 'soft' : 'warn'}>
        acknowledged <code>{type.acknowledged === '' ? 'none yet' : type.acknowledged}</code>
      </div>
    </>
  );
}
