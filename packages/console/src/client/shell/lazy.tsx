import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Loading } from '../parts/panel.tsx';

type Page = () => JSX.Element | null;

/** A page in a chunk of its own, which loads when the page is first shown. */
export function lazy(load: () => Promise<Page>): Page {
  const loaded = signal<Page | undefined>(undefined);
  const problem = signal('');
  let loading: Promise<void> | undefined;
  return function LazyPage() {
    loading ??= load().then(
      (page) => {
        loaded.value = page;
      },
      () => {
        // The server may be of another version by now, with other names of files.
        problem.value = 'This part of the page did not load. Reload the page.';
        loading = undefined;
      },
    );
    const Page = loaded.value;
    if (Page !== undefined) return <Page />;
    return problem.value === '' ? <Loading /> : <p class="banner bad">{problem.value}</p>;
  };
}
