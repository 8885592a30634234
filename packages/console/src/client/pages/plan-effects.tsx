import { useSignal } from '@preact/signals';
import type { PlanAnswer } from '../../api-types.ts';
import {
  type Effect,
  type Effects,
  effectsOf,
  type FieldChange,
  type PlanReport,
  planGraph,
  shortValue,
} from '../logic/plan-effects.ts';
import { count } from '../logic/relative-time.ts';
import { Glyph } from '../parts/glyph.tsx';
import { GraphView } from '../parts/graph-view.tsx';
import { Choice, Nothing, Panel } from '../parts/panel.tsx';

const SHOWN_FIELDS = 6;

export function PlanEffects({ plan, isEmpty }: { plan: PlanAnswer | undefined; isEmpty: boolean }) {
  const view = useSignal<'effects' | 'graph' | 'raw'>('effects');
  if (plan === undefined)
    return (
      <Panel title="Effects">
        <Nothing
          glyph="none"
          title={isEmpty ? 'Type or paste manifests' : 'No plan yet'}
          text={
            isEmpty
              ? 'You see their effects as you type. Typing writes nothing, so you may type anything.'
              : 'The plan appears when the manifests are valid.'
          }
        />
      </Panel>
    );
  const report = plan.report as Partial<PlanReport>;
  const effects = effectsOf(report);
  return (
    <>
      <Counts effects={effects} />
      <Panel
        title="Effects"
        more={
          <Choice
            label="View of the plan"
            options={[
              ['effects', 'Effects'],
              ['graph', 'Graph'],
              ['raw', 'Text'],
            ]}
            value={view.value}
            onChange={(value) => (view.value = value)}
          />
        }
      >
        {view.value === 'raw' ? (
          <pre class="code">{plan.text}</pre>
        ) : view.value === 'graph' ? (
          <PlanGraph report={report} />
        ) : (
          <EffectList effects={effects} />
        )}
      </Panel>
      <Lines
        title="Would be refused"
        glyph="rejected"
        lines={report.refusals ?? []}
        none="Checked with the rights of the operators."
      />
      <Lines
        title="Would be reported"
        glyph="warning"
        lines={(report.problems ?? []).map(({ object, message }) => `${object}: ${message}`)}
      />
      <Lines
        title="Not known"
        glyph="unknown"
        lines={[...(report.unknowns ?? []), ...(report.undecided ?? []), ...(report.mayFollow ?? [])]}
        none="Everything that follows is known."
      />
      <Lines title="Assumed" glyph="none" lines={report.notes ?? []} />
    </>
  );
}

function Counts({ effects: { created, changed, deleted, disturbed, delivered, statuses } }: { effects: Effects }) {
  const one = (title: string, value: number, tone: string, more = '') => (
    <div>
      <div class="faint">{title}</div>
      <div class={`stat ${value > 0 ? tone : ''}`}>
        {value} <small>{more}</small>
      </div>
    </div>
  );
  return (
    <div class="panel stats" aria-live="polite" style={{ marginBottom: 0 }}>
      {one('Deleted', deleted, 'bad')}
      {one('Disturbed', disturbed, 'lit', disturbed > 0 ? 'see below' : '')}
      {one('Changed', changed, '', statuses.length > 0 ? `+ ${count(statuses.length, 'status', 'statuses')}` : '')}
      {one('Created', created, '')}
      {one('Delivered outside', delivered, '')}
    </div>
  );
}

function EffectList({ effects: { list, statuses } }: { effects: Effects }) {
  if (list.length === 0 && statuses.length === 0)
    return <Nothing glyph="ready" title="Nothing would change" text="The cluster already is as the plan wants it." />;
  return (
    <div class="effects" tabIndex={0} role="region" aria-label="Effects">
      {list.map((effect, at) => (
        <EffectEntry key={`${effect.object} ${effect.kind} ${at}`} effect={effect} />
      ))}
      {statuses.length > 0 && (
        <details>
          <summary class="body soft">
            {count(statuses.length, 'status', 'statuses')}: {statuses.map(({ object }) => object).join(', ')}
          </summary>
          {statuses.map((effect, at) => (
            <EffectEntry key={`${effect.object} ${at}`} effect={effect} />
          ))}
        </details>
      )}
    </div>
  );
}

function EffectEntry({ effect: { kind, word, object, disturbs, by, changes } }: { effect: Effect }) {
  const tone = kind === 'delete' ? 'bad' : kind === 'disturb' ? 'lit' : kind === 'create' ? 'ok' : '';
  return (
    <div class="effect">
      <span class={`tag ${tone}`}>{kind === 'later' ? 'later' : word}</span>
      <div>
        <div>
          <span class="strong break">{object}</span>{' '}
          {kind === 'later' && <span class="soft">{word === 'delete' ? 'is deleted later' : 'changes later'}</span>}
        </div>
        {disturbs !== '' && <span class="tag lit">{disturbs}</span>} <span class="faint">{by}</span>
        {changes.slice(0, SHOWN_FIELDS).map((change) => (
          <Field key={change.path} change={change} />
        ))}
        {changes.length > SHOWN_FIELDS && (
          <details>
            <summary class="faint">{count(changes.length - SHOWN_FIELDS, 'more field')}</summary>
            {changes.slice(SHOWN_FIELDS).map((change) => (
              <Field key={change.path} change={change} />
            ))}
          </details>
        )}
      </div>
    </div>
  );
}

function Field({ change: { path, before, after } }: { change: FieldChange }) {
  const [old, next] = [shortValue(before), shortValue(after)];
  return (
    <div>
      <span class="path">{path}</span>
      <div class="diff">
        {old !== undefined && <del>{old}</del>}
        {old !== undefined && next !== undefined && <span class="faint"> → </span>}
        {next !== undefined && <ins>{next}</ins>}
      </div>
    </div>
  );
}

function PlanGraph({ report }: { report: Partial<PlanReport> }) {
  const { nodes, edges } = planGraph(report);
  return (
    <GraphView
      label={`${count(nodes.length, 'object')} of the plan, from your manifests to the last writes.`}
      columns={['your manifests', 'computed', 'written']}
      nodes={nodes.map(({ id, layer, word, disturbs }) => {
        const space = id.indexOf(' ');
        return {
          id,
          layer,
          over: `${word} · ${id.slice(0, space)}`,
          name: id.slice(space + 1),
          state: '',
          tone: disturbs ? ('lit' as const) : layer === 0 ? ('me' as const) : ('' as const),
        };
      })}
      edges={edges.map((edge) => ({
        ...edge,
        tone: nodes.some(({ id, disturbs }) => id === edge.to && disturbs) ? ('lit' as const) : ('' as const),
      }))}
    />
  );
}

interface LinesProps {
  readonly title: string;
  readonly glyph: string;
  readonly lines: readonly string[];
  /** The sentence of an empty list; without it, an empty list is left out. */
  readonly none?: string;
}

function Lines({ title, glyph, lines, none }: LinesProps) {
  if (lines.length === 0 && none === undefined) return null;
  return (
    <Panel title={title} count={lines.length} {...(lines.length === 0 && { more: none })}>
      {lines.length > 0 && (
        <ul class="problem-lines">
          {lines.map((line) => (
            <li key={line}>
              <Glyph state={glyph} isNamed />
              <span>{line}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
