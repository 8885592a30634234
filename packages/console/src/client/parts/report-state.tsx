import type { ReportState } from '../state/report.ts';
import { connection } from '../state/stream.ts';
import { Loading, Nothing, Panel, ProblemNote, UnknownNote } from './panel.tsx';

/** The states of a report without data: not known, a problem, or loading. */
export function WithoutData<T>({ report: { data, unknown, problem } }: { report: ReportState<T> }) {
  if (unknown !== undefined) return <UnknownNote answer={unknown} />;
  if (problem?.status === 404)
    return (
      <Panel title="Not found">
        <Nothing
          glyph="unknown"
          title="There is no such report"
          text="Its operator does not run in this process, or the object of the report does not exist."
        >
          <a class="button small" href="/">
            Open the overview
          </a>
        </Nothing>
      </Panel>
    );
  if (problem !== undefined) return <ProblemNote problem={problem} />;
  if (data !== undefined) return null;
  return connection.value.state === 'waiting' ? null : <Loading />;
}
