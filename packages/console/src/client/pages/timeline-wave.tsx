import type { ChangeAnswer, WaveDetailAnswer } from '../../api-types.ts';
import { clockTime, count } from '../logic/relative-time.ts';
import { describe, linkToObject, parseObjectId } from '../logic/routes.ts';
import { Glyph, Icon } from '../parts/glyph.tsx';
import { Panel } from '../parts/panel.tsx';
import { withQuery } from '../state/location.ts';
import { now } from '../state/world.ts';

/** One wave: its changes, the derivations that ran, and where it stopped. */
export function WavePanel({ detail, list }: { detail: WaveDetailAnswer; list: readonly ChangeAnswer[] }) {
  const numbers = [...new Set(list.map(({ wave }) => wave))].sort((a, b) => a - b);
  const before = numbers.findLast((one) => one < detail.wave);
  const after = numbers.find((one) => one > detail.wave);
  const step = (wave: number | undefined, text: string) =>
    wave === undefined ? (
      <span class="faint">{text}</span>
    ) : (
      <a class="button small" href={withQuery({ at: String(wave) })}>
        {text}
      </a>
    );
  return (
    <div class="columns wide-left">
      <Panel
        title={`At ${clockTime(detail.at, now.value)}`}
        count={`wave ${detail.wave}`}
        more={
          <>
            {step(before, '← earlier')}
            {step(after, 'later →')}
          </>
        }
      >
        <table>
          <tbody>
            {detail.list.map((change) => (
              <Row key={change.sequence} change={change} />
            ))}
          </tbody>
        </table>
      </Panel>
      <Panel title="This wave">
        <dl class="pairs body">
          <dt>Ran</dt>
          <dd>
            {detail.runs} of {count(detail.nodes, 'node')}
          </dd>
          <dt>Stopped at</dt>
          <dd>{detail.equal === 0 ? 'nothing: every result differed' : count(detail.equal, 'equal result')}</dd>
          <dt>Took</dt>
          <dd>{detail.ms} ms</dd>
          <dt>Changed</dt>
          <dd>{count(detail.changes, 'object')}</dd>
        </dl>
      </Panel>
    </div>
  );
}

function Row({ change }: { change: ChangeAnswer }) {
  const { verb, conditions = [], paths } = change;
  const isBad = conditions.some(({ after }) => after === 'False');
  const cause = change.cause?.changes[0]?.object;
  const source = cause === undefined ? undefined : parseObjectId(cause);
  return (
    <tr>
      <td>
        {verb === 'deleted' ? <Icon name="deleted" /> : <Glyph state={isBad ? 'broken' : 'none'} isNamed />}{' '}
        <a class="name" href={linkToObject(change)} data-row>
          {describe(change)}
        </a>{' '}
        <span class="soft">
          {verb}{' '}
          {conditions.length > 0
            ? conditions
                .map(({ type, before, after }) => `${type} ${before === '' ? '' : `${before} → `}${after}`)
                .join(', ')
            : paths.slice(0, 3).join(', ')}
        </span>
      </td>
      <td class="soft">
        {source !== undefined ? `because of ${describe(source)}` : change.cause === undefined ? 'from outside' : ''}
      </td>
    </tr>
  );
}
