import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon, Mark } from '../parts/glyph.tsx';
import { route } from '../state/location.ts';
import { nextTheme, theme } from '../state/preferences.ts';
import { overview, reports, session } from '../state/world.ts';
import { isHelpOpen, isMenuOpen } from './dialogs.ts';

const MAIN = [
  ['overview', '/', 'Overview'],
  ['time', '/time', 'Time line'],
  ['explore', '/explore', 'Explorer'],
  ['plan', '/plan', 'Plan a change'],
] as const;

/** The pages of operators, with the name of the operator whose unready objects they count. */
export const NETWORK = [
  ['ingress', '/ingress', 'Ingress', 'sesame'],
  ['cables', '/cables', 'Cables', 'submariner'],
  ['kafka', '/kafka', 'Kafka proxies', 'kroxylicious'],
  ['discovery', '/discovery', 'Discovery', 'gimbal'],
  ['packages', '/packages', 'Packages', 'crossplane'],
] as const;

export function Side() {
  const isModeShown = useSignal(false);
  const { page } = route.value;
  useEffect(() => {
    isMenuOpen.value = false;
  }, [route.value]);
  const current = (name: string) => (page === name ? { 'aria-current': 'page' as const } : {});
  const { rootCount = 0, operators = [] } = overview.value ?? {};
  const { context = '', user, version, writes } = session.value ?? {};
  const known = new Set(reports.value.map(({ name }) => name.split('/')[0]));
  const owned = new Set(session.value?.operators);
  const network = NETWORK.filter(([name, , , operator]) => known.has(name) || owned.has(operator));
  return (
    <nav class={`side ${isMenuOpen.value ? 'open' : ''}`} id="menu" aria-label="Pages">
      <div class="brand">
        <Mark />
        Capstan
      </div>
      <div class="context">
        {context}
        <small>{[user, version].filter((part) => part !== undefined).join(' · ')}</small>
      </div>
      {MAIN.map(([name, link, title]) => (
        <a key={name} class="nav" href={link} {...current(name)}>
          <Icon name={name} />
          {title}
          {name === 'overview' && rootCount > 0 && (
            <span class="end bad">
              {rootCount}
              <span class="hidden-text"> root causes</span>
            </span>
          )}
        </a>
      ))}
      {network.length > 0 && <div class="nav-title">Network</div>}
      {network.map(([name, link, title, operator]) => {
        const { objects = 0, ready = 0 } = operators.find((one) => one.name === operator) ?? {};
        return (
          <a key={name} class="nav" href={link} {...current(name)}>
            <Icon name={name} />
            {title}
            {objects > ready && (
              <span class="end bad">
                {objects - ready}
                <span class="hidden-text"> objects are not ready</span>
              </span>
            )}
          </a>
        );
      })}
      <div class="foot">
        <button
          type="button"
          class="nav"
          aria-expanded={isModeShown.value}
          onClick={() => (isModeShown.value = !isModeShown.value)}
        >
          <Icon name="lock" />
          {writes === true ? 'May write' : 'Read-only'}
        </button>
        {isModeShown.value && (
          <p class="body soft">
            {writes === true
              ? 'Plans that you have seen can be applied, with your own rights.'
              : 'The page can write nothing. To apply plans from it, start capstan console --allow-writes.'}
          </p>
        )}
        <button type="button" class="nav" onClick={() => (isHelpOpen.value = true)}>
          <Icon name="keys" />
          Shortcuts
          <span class="end">
            <kbd>?</kbd>
          </span>
        </button>
        <button type="button" class="nav" onClick={nextTheme}>
          <Icon name="theme" />
          Theme: {theme.value}
        </button>
      </div>
    </nav>
  );
}
