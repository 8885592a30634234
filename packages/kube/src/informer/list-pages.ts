import type { Client, ListOptions, ListPage } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { isGone } from '../errors.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import type { Selection } from './selection.ts';

export interface ListPagesOptions<T extends KubeObject> {
  client: Client;
  kind: Kind<T>;
  selection: Selection;
  pageSize: number;
  clock: Clock;
  signal: AbortSignal;
  /** Starts a list and discards the pages of an earlier attempt. */
  begin(): void;
  take(page: ListPage<T>): void;
}

export interface PagedList {
  resourceVersion: string;
  pages: number;
  /** When the server gave the first page: all pages show the state of that moment. */
  readAt: number;
}

/**
 * Lists page by page, so that never more than one page waits to be taken. The pages show one state, which the server
 * keeps for a few minutes: a list that takes longer is restarted, and the second time asked for in one piece.
 */
export async function listPages<T extends KubeObject>(options: ListPagesOptions<T>): Promise<PagedList> {
  const { client, kind, selection, pageSize, clock, signal } = options;
  const { namespace, labelSelector, fieldSelector, metadataOnly } = selection;
  const common: ListOptions = {
    ...(namespace ? { namespace } : {}),
    ...(labelSelector ? { labelSelector } : {}),
    ...(fieldSelector ? { fieldSelector } : {}),
    ...(metadataOnly ? { metadataOnly } : {}),
    // The informer repeats by itself; a client that repeats too would only delay the news.
    attempts: 1,
    timeoutMs: TIMEOUT_MS,
    signal,
  };

  for (let expired = 0; ; expired++) {
    const limit = expired < 2 ? { limit: pageSize } : {};
    options.begin();
    let page = await client.list(kind, { ...common, ...limit });
    const list = { resourceVersion: page.resourceVersion, pages: 1, readAt: clock.now() };
    options.take(page);
    try {
      while (page.continue) {
        page = await client.list(kind, { ...common, ...limit, continue: page.continue });
        list.pages++;
        options.take(page);
      }
      return list;
    } catch (error) {
      if (!isGone(error) || expired >= 2) throw error;
    }
  }
}

const TIMEOUT_MS = 50_000;
