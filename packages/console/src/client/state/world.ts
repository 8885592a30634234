// Data that every page shows: the session, the overview and the time.
import { type Signal, signal } from '@preact/signals';
import type { OverviewAnswer, ReportsAnswer, SessionAnswer } from '../../api-types.ts';
import { get } from './api.ts';
import { onEvent } from './stream.ts';

export const session = signal<SessionAnswer | undefined>(undefined);
export const overview = signal<OverviewAnswer | undefined>(undefined);
export const reports = signal<ReportsAnswer['reports']>([]);
/** The one clock of relative times. */
export const now = signal(Date.now());
/** The reason why the first answers did not arrive. */
export const startProblem = signal<string | undefined>(undefined);

const CLOCK_MS = 5000;

export function loadWorld(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, CLOCK_MS);
  onEvent('roots', (roots) => {
    now.value = Date.now();
    if (overview.value !== undefined) overview.value = { ...overview.value, ...roots };
  });
  onEvent('sinks', (sinks) => {
    if (overview.value !== undefined) overview.value = { ...overview.value, ...sinks };
  });
  onEvent('sync', (sync) => {
    if (overview.value !== undefined) overview.value = { ...overview.value, ...sync };
    // The session has the access to each kind, which is known once it is listed.
    if (sync.filling.length === 0) void refresh(session, '/api/session');
  });
  onEvent('gap', () => void refreshAll());
  // A tab that reads no stream itself, because another tab does, hears no hello.
  void refreshAll();
  onEvent('hello', () => {
    if (Date.now() - refreshedAt > FRESH_MS) void refreshAll();
  });
}

/** The first hello follows the first requests at once: it asks for nothing again. */
const FRESH_MS = 1000;
let refreshedAt = 0;

async function refreshAll(): Promise<void> {
  refreshedAt = Date.now();
  await Promise.all([refresh(session, '/api/session'), refresh(overview, '/api/overview'), refreshReports()]);
}

async function refreshReports(): Promise<void> {
  const found = signal<ReportsAnswer | undefined>(undefined);
  await refresh(found, '/api/reports');
  if (found.value !== undefined) reports.value = found.value.reports;
}

async function refresh<T>(into: Signal<T | undefined>, path: string): Promise<void> {
  try {
    into.value = await get<T>(path);
    startProblem.value = undefined;
  } catch (error) {
    startProblem.value = error instanceof Error ? error.message : String(error);
  }
}
